//! Backup of a running service, verification of an archive, and restore.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use e2e::{Service, program};
use rustix::process::{Pid, Signal, kill_process};

use crate::snapshot::{Snapshot, Users, files, without_checksum};
use crate::start::{assert_contains, run, run_failing};

/// Runs `pinhole …` on a data folder, which must succeed, and returns its stderr.
#[track_caller]
pub(crate) fn pinhole(data_dir: &Path, arguments: &[&str]) -> String {
    let output = run(&[arguments, &["--data-dir", data_dir.to_str().unwrap()]].concat(), &[]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    stderr
}

/// Runs `pinhole …` on a data folder, which must fail, and returns its stderr.
#[track_caller]
pub(crate) fn pinhole_fails(data_dir: &Path, arguments: &[&str]) -> String {
    run_failing(&[arguments, &["--data-dir", data_dir.to_str().unwrap()]].concat(), &[])
}

/// Runs `pinhole …` on a data folder with `input` on stdin.
fn run_with_stdin(data_dir: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(program())
        .args(arguments)
        .arg("--data-dir")
        .arg(data_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Fails when the program stops reading before the end, which is fine.
    child.stdin.take().unwrap().write_all(input).ok();
    child.wait_with_output().unwrap()
}

pub(crate) fn assert_healthy(data_dir: &Path) {
    let output = run(&["doctor", "--data-dir", data_dir.to_str().unwrap()], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

pub(crate) fn stop(service: Service) {
    service.terminate();
    service.assert_clean_exit();
}

#[test]
fn a_backup_of_a_running_service_restores_completely() {
    let (workdir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Service::start(&[]);
    let users = Users::create(&service);
    let before = Snapshot::take(&service, &users);
    let archive = workdir.path().join("backup.tar");
    let name = archive.to_str().unwrap();
    let printed = pinhole(service.data_dir(), &["backup", name]);
    assert_contains(&printed, &["3 users", "3 posts", "3 likes", "4 photos"]);
    service.assert_ready();
    assert_contains(&pinhole(service.data_dir(), &["backup", "verify", name]), &["verified", "3 users"]);
    let mode = std::os::unix::fs::MetadataExt::mode(&archive.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600, "the archive contains password hashes");
    assert_eq!(std::fs::read_dir(workdir.path()).unwrap().count(), 1, "no temporary file is left");

    pinhole(elsewhere.path(), &["restore", "--keep-sessions", name]);
    assert_healthy(elsewhere.path());
    let other = Service::start_in(elsewhere.path(), &[]);
    before.assert_preserved_in(&other, &users);
}

#[test]
fn a_backup_is_consistent_while_posts_are_created_and_deleted() {
    let workdir = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    let users = Users::create(&service);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in users.all() {
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let posts: Vec<i64> = (0..3).map(|_| client.share_tiny("busy")).collect();
                    for post in &posts {
                        client.delete(&format!("/posts/{post}")).expect(200);
                    }
                }
            });
        }
        // Stops the writers also when an assertion below panics; the scope waits for them.
        let _over = SetOnDrop(&is_over);
        for round in 0..5 {
            let archive = workdir.path().join(format!("{round}.tar"));
            let (archive, elsewhere) = (archive.to_str().unwrap(), tempfile::tempdir().unwrap());
            pinhole(service.data_dir(), &["backup", archive]);
            pinhole(elsewhere.path(), &["restore", archive]);
            assert_healthy(elsewhere.path());
        }
    });
}

/// Sets the flag when it is dropped, also during a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_corrupt_archive_is_detected_and_never_restored() {
    let (workdir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Service::start(&[]);
    Users::create(&service);
    let path = workdir.path().join("backup.tar");
    let name = path.to_str().unwrap();
    pinhole(service.data_dir(), &["backup", name]);
    let archive = std::fs::read(&path).unwrap();

    let (file, bytes) = files(service.data_dir()).into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let at = archive
        .windows(64)
        .position(|window| *window == bytes[1_000..1_064])
        .expect("the archive contains the file");
    let find = |text: &str| archive.windows(text.len()).position(|w| w == text.as_bytes()).unwrap();
    let find_last = |text: &str| archive.windows(text.len()).rposition(|w| w == text.as_bytes()).unwrap();
    let entry = without_checksum(&file).iter().skip(1).collect::<std::path::PathBuf>();
    let cases = [
        (at, format!("photos/{}", entry.display())),
        (find("Corners"), "copy/posts/000001/rows.jsonl".to_owned()),
        (find_last("Corners"), "facts/posts/000001/rows.jsonl".to_owned()),
        (find("\"deleted_meanwhile\""), "manifest.json".to_owned()),
        (archive.len() - 1, "the end".to_owned()),
    ];
    for (at, expected) in cases {
        let mut corrupt = archive.clone();
        corrupt[at] ^= 0x10;
        std::fs::write(&path, corrupt).unwrap();
        assert_contains(&pinhole_fails(service.data_dir(), &["backup", "verify", name]), &[&expected]);
        pinhole_fails(elsewhere.path(), &["restore", name]);
    }
    // Further single-bit errors, all over the archive.
    for at in (0..archive.len()).step_by(archive.len() / 40 + 1) {
        let mut corrupt = archive.clone();
        corrupt[at] ^= 1;
        let output = run_with_stdin(elsewhere.path(), &["backup", "verify", "-"], &corrupt);
        assert!(!output.status.success(), "the change of byte {at} of {} was not detected", archive.len());
    }
    for length in [0, 511, archive.len() / 2, archive.len() - 1_024, archive.len() - 1] {
        let output = run_with_stdin(elsewhere.path(), &["backup", "verify", "-"], &archive[..length]);
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &["truncated"]);
    }
    std::fs::write(&path, "something else entirely, and more of it".repeat(99)).unwrap();
    assert_contains(&pinhole_fails(elsewhere.path(), &["restore", name]), &["not an archive"]);

    // The service starts empty and removes the blobs that were restored before the corruption was found.
    let other = Service::start_in(elsewhere.path(), &[]);
    assert_eq!(other.anonymous().get("/feed").expect(200).json()["data"].as_array().unwrap().len(), 0);
    e2e::eventually("no blobs are left", std::time::Duration::from_secs(30), || {
        other.files("photos").is_empty().then_some(())
    });
    stop(other);
    std::fs::write(&path, archive).unwrap();
    pinhole(elsewhere.path(), &["restore", name]);
    assert_healthy(elsewhere.path());
}

#[test]
fn an_interrupted_restore_can_be_resumed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    let users = Users::create(&service);
    let before = Snapshot::take(&service, &users);
    let output = run(&["backup", "-", "--data-dir", service.data_dir().to_str().unwrap()], &[]);
    assert!(output.status.success());
    let archive = output.stdout;

    let rows = archive.windows(6).position(|window| window == b"facts/").unwrap();
    // Killed while it waits for the rest of the archive.
    let (mut child, _input) = begin_restore(elsewhere.path(), &archive[..rows]);
    child.kill().unwrap();
    child.wait().unwrap();
    // Truncated input.
    let output = run_with_stdin(elsewhere.path(), &["restore", "-"], &archive[..rows + 700]);
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["truncated"]);

    let output = run_with_stdin(elsewhere.path(), &["restore", "--keep-sessions", "-"], &archive);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}");
    assert_contains(&printed, &["4 photos were already restored by an earlier attempt"]);
    assert_healthy(elsewhere.path());
    let other = Service::start_in(elsewhere.path(), &[]);
    before.assert_preserved_in(&other, &users);
}

#[test]
fn sigint_during_a_restore_prints_how_to_resume() {
    let elsewhere = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    Users::create(&service);
    let archive = run(&["backup", "-", "--data-dir", service.data_dir().to_str().unwrap()], &[]).stdout;
    let rows = archive.windows(6).position(|window| window == b"facts/").unwrap();
    let (child, _input) = begin_restore(elsewhere.path(), &archive[..rows]);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["stopped", "run it again"]);
}

/// Starts a restore that has stored the first photos and waits for the rest of the archive.
fn begin_restore(data_dir: &Path, archive: &[u8]) -> (Child, ChildStdin) {
    let mut child = Command::new(program())
        .args(["restore", "-", "--data-dir"])
        .arg(data_dir)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(archive).unwrap();
    input.flush().unwrap();
    e2e::eventually("the first photos are stored", std::time::Duration::from_secs(30), || {
        (data_dir.join("photos").exists() && !files(data_dir).is_empty()).then_some(())
    });
    (child, input)
}

#[test]
fn backup_and_restore_overwrite_nothing_without_force() {
    let workdir = tempfile::tempdir().unwrap();
    let folder = workdir.path().join("data");
    let service = Service::start_in(&folder, &[]);
    Users::create(&service);
    let path = workdir.path().join("backup.tar");
    let name = path.to_str().unwrap();
    std::fs::write(&path, "existing file").unwrap();
    assert_contains(&pinhole_fails(&folder, &["backup", name]), &["already exists", "--force"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"existing file");
    pinhole(&folder, &["backup", "--force", name]);

    assert_contains(&pinhole_fails(&folder, &["restore", name]), &["already running"]);
    stop(service);
    assert_contains(&pinhole_fails(&folder, &["restore", name]), &["not empty", "3 users", "3 posts"]);
    assert_contains(&pinhole_fails(&workdir.path().join("nowhere"), &["backup", name]), &["no database"]);
    assert!(!workdir.path().join("nowhere").exists(), "a failed backup creates no data folder");
}

#[test]
fn an_archive_can_be_read_with_tar_and_sha256sum() {
    let workdir = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    Users::create(&service);
    let name = workdir.path().join("backup.tar");
    pinhole(service.data_dir(), &["backup", name.to_str().unwrap()]);
    let shell = |line: &str| {
        let output = Command::new("sh").args(["-ec", line]).current_dir(workdir.path()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    shell("mkdir out && tar -xf backup.tar -C out");
    let checked = shell("cd out && find . -name SHA256SUMS -execdir sha256sum -c {} +");
    assert!(checked.lines().count() > 10 && checked.lines().all(|line| line.ends_with(": OK")), "{checked}");
    for (path, bytes) in files(service.data_dir()) {
        let in_archive: std::path::PathBuf = without_checksum(&path).iter().skip(1).collect();
        let extracted = workdir.path().join("out/photos").join(in_archive);
        assert!(std::fs::read(&extracted).unwrap() == bytes, "{}", extracted.display());
    }
}
