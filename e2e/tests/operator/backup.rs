//! Backups: taken while the service runs, proven without being restored, and worth something when they are.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use e2e::{Service, program};
use rustix::process::{Pid, Signal, kill_process};

use crate::snapshot::{People, Snapshot, files};
use crate::start::{assert_says, refusal, run};

/// `pinhole …` on a data folder; returns what it said.
#[track_caller]
pub(crate) fn pinhole(data_dir: &Path, arguments: &[&str]) -> String {
    let output = run(&[arguments, &["--data-dir", data_dir.to_str().unwrap()]].concat(), &[]);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {words}");
    words
}

#[track_caller]
pub(crate) fn refused(data_dir: &Path, arguments: &[&str]) -> String {
    refusal(&[arguments, &["--data-dir", data_dir.to_str().unwrap()]].concat(), &[])
}

/// Runs it with something to read.
fn fed(data_dir: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(program())
        .args(arguments)
        .arg("--data-dir")
        .arg(data_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may stop reading before the end.
    child.stdin.take().unwrap().write_all(input).ok();
    child.wait_with_output().unwrap()
}

fn healthy(data_dir: &Path) {
    let output = run(&["doctor", "--data-dir", data_dir.to_str().unwrap()], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn stop(service: Service) {
    service.terminate();
    service.assert_ends_well();
}

#[test]
fn what_was_backed_up_from_a_running_service_lives_on_elsewhere() {
    let (house, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Service::start(&[]);
    let people = People::settle(&service);
    let before = Snapshot::take(&service, &people);
    let archive = house.path().join("backup.tar");
    let name = archive.to_str().unwrap();
    let words = pinhole(service.data_dir(), &["backup", name]);
    assert_says(&words, &["3 members", "3 posts", "3 likes", "4 photos"]);
    service.assert_alive();
    assert_says(&pinhole(service.data_dir(), &["backup", "verify", name]), &["whole", "3 members"]);
    let rights = std::os::unix::fs::MetadataExt::mode(&archive.metadata().unwrap());
    assert_eq!(rights & 0o777, 0o600, "it holds hashes of passwords");
    assert_eq!(std::fs::read_dir(house.path()).unwrap().count(), 1, "nothing lies beside it");

    pinhole(elsewhere.path(), &["restore", name]);
    healthy(elsewhere.path());
    let other = Service::start_in(elsewhere.path(), &[]);
    before.assert_lives_on_in(&other, &people);
}

#[test]
fn a_backup_is_whole_whatever_is_posted_and_deleted_meanwhile() {
    let house = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    let people = People::settle(&service);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for person in people.all() {
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let posts: Vec<i64> = (0..3).map(|_| person.share_tiny("busy")).collect();
                    for post in &posts {
                        person.delete(&format!("/posts/{post}")).expect(200);
                    }
                }
            });
        }
        // Also when something fails below: nobody would wait for us otherwise.
        let _over = Over(&is_over);
        for round in 0..5 {
            let archive = house.path().join(format!("{round}.tar"));
            let (archive, elsewhere) = (archive.to_str().unwrap(), tempfile::tempdir().unwrap());
            pinhole(service.data_dir(), &["backup", archive]);
            pinhole(elsewhere.path(), &["restore", archive]);
            healthy(elsewhere.path());
        }
    });
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_damage_is_named_and_nothing_damaged_is_restored() {
    let (house, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Service::start(&[]);
    People::settle(&service);
    let path = house.path().join("backup.tar");
    let name = path.to_str().unwrap();
    pinhole(service.data_dir(), &["backup", name]);
    let archive = std::fs::read(&path).unwrap();

    let (file, bytes) = files(service.data_dir()).into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let at = archive.windows(64).position(|window| *window == bytes[1_000..1_064]).expect("it is in there");
    let text = |words: &str| archive.windows(words.len()).position(|w| w == words.as_bytes()).unwrap();
    let entry = file.iter().skip(1).collect::<std::path::PathBuf>();
    let cases = [
        (at, format!("photos/{}", entry.display())),
        (text("Corners"), "facts/posts/000001/rows.jsonl".to_owned()),
        (text("\"deleted_meanwhile\""), "manifest.json".to_owned()),
        (archive.len() - 1, "the end".to_owned()),
    ];
    for (at, words) in cases {
        let mut damaged = archive.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, damaged).unwrap();
        assert_says(&refused(service.data_dir(), &["backup", "verify", name]), &[&words]);
        refused(elsewhere.path(), &["restore", name]);
    }
    // And some more, anywhere.
    for at in (0..archive.len()).step_by(archive.len() / 40 + 1) {
        let mut damaged = archive.clone();
        damaged[at] ^= 1;
        let output = fed(elsewhere.path(), &["backup", "verify", "-"], &damaged);
        assert!(!output.status.success(), "byte {at} of {} was changed, and nobody noticed", archive.len());
    }
    for length in [0, 511, archive.len() / 2, archive.len() - 1_024, archive.len() - 1] {
        let output = fed(elsewhere.path(), &["backup", "verify", "-"], &archive[..length]);
        assert_says(&String::from_utf8(output.stderr).unwrap(), &["too early"]);
    }
    std::fs::write(&path, "something else entirely, and more of it".repeat(99)).unwrap();
    assert_says(&refused(elsewhere.path(), &["restore", name]), &["not an archive"]);

    // Nobody is there, and a start clears away what came before the damage.
    let other = Service::start_in(elsewhere.path(), &[]);
    assert_eq!(other.anyone().get("/feed").expect(200).json()["data"].as_array().unwrap().len(), 0);
    e2e::eventually("no bytes are left", std::time::Duration::from_secs(30), || {
        other.files("photos").is_empty().then_some(())
    });
    stop(other);
    std::fs::write(&path, archive).unwrap();
    pinhole(elsewhere.path(), &["restore", name]);
    healthy(elsewhere.path());
}

#[test]
fn an_interrupted_restore_is_continued() {
    let elsewhere = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    let people = People::settle(&service);
    let before = Snapshot::take(&service, &people);
    let output = run(&["backup", "-", "--data-dir", service.data_dir().to_str().unwrap()], &[]);
    assert!(output.status.success());
    let archive = output.stdout;

    let facts = archive.windows(6).position(|window| window == b"facts/").unwrap();
    // Killed while it waits for the rest.
    let (mut child, _input) = begin_restore(elsewhere.path(), &archive[..facts]);
    child.kill().unwrap();
    child.wait().unwrap();
    // And cut off.
    let output = fed(elsewhere.path(), &["restore", "-"], &archive[..facts + 700]);
    assert_says(&String::from_utf8(output.stderr).unwrap(), &["too early"]);

    let output = fed(elsewhere.path(), &["restore", "-"], &archive);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words}");
    assert_says(&words, &["4 photos were there from an earlier attempt"]);
    healthy(elsewhere.path());
    let other = Service::start_in(elsewhere.path(), &[]);
    before.assert_lives_on_in(&other, &people);
}

#[test]
fn who_stops_a_restore_hears_how_to_go_on() {
    let elsewhere = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    People::settle(&service);
    let archive = run(&["backup", "-", "--data-dir", service.data_dir().to_str().unwrap()], &[]).stdout;
    let facts = archive.windows(6).position(|window| window == b"facts/").unwrap();
    let (child, _input) = begin_restore(elsewhere.path(), &archive[..facts]);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_says(&String::from_utf8(output.stderr).unwrap(), &["stopped", "run it again"]);
}

/// One that has brought in the first photos, and waits for more than it was given.
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
    e2e::eventually("the first photos are there", std::time::Duration::from_secs(30), || {
        (data_dir.join("photos").exists() && !files(data_dir).is_empty()).then_some(())
    });
    (child, input)
}

#[test]
fn nothing_is_overwritten_or_mixed() {
    let house = tempfile::tempdir().unwrap();
    let folder = house.path().join("data");
    let service = Service::start_in(&folder, &[]);
    People::settle(&service);
    let path = house.path().join("backup.tar");
    let name = path.to_str().unwrap();
    std::fs::write(&path, "precious").unwrap();
    assert_says(&refused(&folder, &["backup", name]), &["is there already", "--force"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    pinhole(&folder, &["backup", "--force", name]);

    assert_says(&refused(&folder, &["restore", name]), &["already running"]);
    stop(service);
    assert_says(&refused(&folder, &["restore", name]), &["not empty", "3 members", "3 posts"]);
    assert_says(&refused(&house.path().join("nowhere"), &["backup", name]), &["no database"]);
    assert!(!house.path().join("nowhere").exists(), "a look makes nothing");
}

#[test]
fn a_photo_without_bytes_is_named_and_left_out_only_if_told_so() {
    let (house, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Service::start(&[]);
    let people = People::settle(&service);
    let lost = people.ada.share(&e2e::picture::tiny(), "lost");
    let photo = lost["photo"]["id"].as_str().unwrap();
    let place = service.data_dir().join("photos").join(&photo[34..]).join(photo);
    std::fs::remove_file(place.join("original")).unwrap();

    let path = house.path().join("backup.tar");
    let name = path.to_str().unwrap();
    assert_says(&refused(service.data_dir(), &["backup", name]), &[photo, "--skip-missing"]);
    assert_eq!(std::fs::read_dir(house.path()).unwrap().count(), 0, "half of a backup is none");
    assert_says(&pinhole(service.data_dir(), &["backup", "--skip-missing", name]), &[photo, "3 posts"]);
    pinhole(elsewhere.path(), &["restore", name]);
    healthy(elsewhere.path());
}

#[test]
fn an_archive_can_be_read_with_what_every_machine_has() {
    let house = tempfile::tempdir().unwrap();
    let service = Service::start(&[]);
    People::settle(&service);
    let name = house.path().join("backup.tar");
    pinhole(service.data_dir(), &["backup", name.to_str().unwrap()]);
    let shell = |line: &str| {
        let output = Command::new("sh").args(["-ec", line]).current_dir(house.path()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    shell("mkdir out && tar -xf backup.tar -C out");
    let checked = shell("cd out && find . -name SHA256SUMS -execdir sha256sum -c {} +");
    assert!(checked.lines().count() > 10 && checked.lines().all(|line| line.ends_with(": OK")), "{checked}");
    for (path, bytes) in files(service.data_dir()) {
        let inside =
            house.path().join("out/photos").join(path.iter().skip(1).collect::<std::path::PathBuf>());
        assert!(std::fs::read(&inside).unwrap() == bytes, "{}", inside.display());
    }
}
