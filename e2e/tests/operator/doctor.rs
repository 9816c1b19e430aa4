//! `pinhole doctor`: finds every kind of damage done here by hand, and `--fix` repairs what it reports as
//! fixed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use e2e::{FormData, Service};
use rusqlite::Connection;
use serde_json::Value;

use crate::backup::pinhole_fails;
use crate::snapshot::{Snapshot, Users, files, photo_file};
use crate::start::{assert_contains, run};

/// Runs `doctor --json`; returns whether the instance is healthy, and the findings. A check may have several.
pub(crate) fn run_doctor(data_dir: &Path, flags: &[&str]) -> (bool, Vec<Value>) {
    let arguments = [&["doctor", "--json", "--data-dir", data_dir.to_str().unwrap()], flags].concat();
    let output = run(&arguments, &[]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert_eq!(output.status.success(), report["healthy"].as_bool().unwrap(), "{report}");
    (output.status.success(), report["findings"].as_array().unwrap().clone())
}

pub(crate) fn finding(findings: &[Value], check: &str) -> Value {
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("no finding of check {check}: {findings:?}")).clone()
}

struct Instance {
    folder: tempfile::TempDir,
    users: Users,
    before: Snapshot,
}

impl Instance {
    /// A healthy instance that is not running.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start_in(folder.path(), &[]);
        let users = Users::create(&service);
        let before = Snapshot::take(&service, &users);
        service.terminate();
        service.assert_clean_exit();
        let instance = Self { folder, users, before };
        let (healthy, findings) = run_doctor(instance.path(), &[]);
        assert!(healthy, "{findings:?}");
        instance
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn sql(&self, statements: &str) {
        let conn = Connection::open(self.path().join("pinhole.db")).unwrap();
        conn.execute_batch(statements).unwrap();
    }

    fn count(&self, sql: &str) -> i64 {
        let conn = Connection::open(self.path().join("pinhole.db")).unwrap();
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Asserts that this check alone reports a problem, and that the report contains `expected`.
    #[track_caller]
    fn assert_problem(&self, check: &str, expected: &[&str]) {
        let (healthy, findings) = run_doctor(self.path(), &[]);
        assert!(!healthy, "{findings:?}");
        let bad: Vec<&Value> = findings.iter().filter(|finding| finding["level"] == "problem").collect();
        assert!(bad.len() == 1 && bad[0]["check"] == check, "{bad:?}");
        assert_contains(&bad[0].to_string(), expected);
        assert!(bad[0]["advice"].is_string(), "{bad:?}");
    }

    #[track_caller]
    fn assert_fixed(&self, check: &str) {
        let (healthy, findings) = run_doctor(self.path(), &["--fix"]);
        assert!(healthy && finding(&findings, check)["fixed"].is_string(), "{findings:?}");
        let (healthy, findings) = run_doctor(self.path(), &[]);
        assert!(healthy && finding(&findings, check)["level"] == "ok", "{findings:?}");
    }

    #[track_caller]
    fn assert_intact(&self) {
        let service = Service::start_in(self.path(), &[]);
        self.before.assert_preserved_in(&service, &self.users);
    }
}

/// Creates the folder of a photo without a database row, with a modification time `age` ago.
fn create_orphan(instance: &Instance, id: &str, age: Duration) -> PathBuf {
    let folder = instance.path().join("photos").join(&id[34..]).join(id);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("8"), "not a picture").unwrap();
    File::open(&folder).unwrap().set_modified(SystemTime::now() - age).unwrap();
    folder
}

const TWO_HOURS: Duration = Duration::from_secs(2 * 60 * 60);

#[test]
fn a_running_healthy_instance_is_reported_healthy_and_cannot_be_fixed() {
    let service = Service::start(&[]);
    let users = Users::create(&service);
    let output = run(&["doctor", "--data-dir", service.data_dir().to_str().unwrap()], &[]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert_contains(
        &printed,
        &["No problems found.", "3 users, 3 posts, 4 photos", "all 4 have their files"],
    );
    assert!(printed.lines().all(|line| !line.starts_with("PROBLEM")), "{printed}");

    let (healthy, findings) = run_doctor(service.data_dir(), &["--fix"]);
    assert!(!healthy && finding(&findings, "open")["what"].as_str().unwrap().contains("already running"));
    service.assert_ready();
    users.ada.get("/me").expect(200);
    let nowhere = service.data_dir().join("nowhere");
    for flags in [&[][..], &["--fix"]] {
        let (healthy, findings) = run_doctor(&nowhere, flags);
        assert!(!healthy && finding(&findings, "open")["what"].as_str().unwrap().contains("no database"));
    }
    assert!(!nowhere.exists());
}

#[test]
fn wrong_like_counts_are_found_and_recounted() {
    let instance = Instance::new();
    instance.sql("UPDATE posts SET like_count = like_count + 3 WHERE id = 1");
    instance.assert_problem("likes", &["post 1 counts 4, has 1", "--fix"]);
    instance.assert_fixed("likes");
    instance.assert_intact();
}

#[test]
fn old_orphaned_blobs_are_removed_and_young_ones_are_not() {
    let instance = Instance::new();
    let young = create_orphan(&instance, "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b", Duration::ZERO);
    assert!(run_doctor(instance.path(), &["--fix"]).0, "a young orphan may be an upload in progress");
    assert!(young.exists());
    fs::remove_dir_all(&young).unwrap();
    let old = create_orphan(&instance, "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5c", TWO_HOURS);
    instance.assert_problem("orphans", &["4a5c", "--fix"]);
    assert!(old.exists());
    instance.assert_fixed("orphans");
    assert!(!old.exists());
    instance.assert_intact();
}

#[test]
fn parts_of_an_unfinished_upload_are_orphans_only_without_its_row() {
    let instance = Instance::new();
    let service = Service::start_in(instance.path(), &[]);
    let ada = instance.users.ada.with_base(service.base());
    let start = ada.request("POST", "/posts").header("Upload-Complete", "?0");
    let started = start.body(FormData::photo(&[7; 1000])).send().expect(201);
    let id = started.header("location").unwrap().strip_prefix("/uploads/").unwrap();
    // A row that is younger than the upload: otherwise the database could be an old copy.
    service.new_user("later");
    service.terminate();
    service.assert_clean_exit();
    let folder = instance.path().join("photos").join(&id[34..]).join(id);
    File::open(&folder).unwrap().set_modified(SystemTime::now() - TWO_HOURS).unwrap();
    let (healthy, findings) = run_doctor(instance.path(), &["--deep", "--fix"]);
    assert!(healthy && folder.exists(), "{findings:?}");

    instance.sql("DELETE FROM upload_parts; DELETE FROM resumable_uploads");
    instance.assert_problem("orphans", &[id, "--fix"]);
    instance.assert_fixed("orphans");
    assert!(!folder.exists());
}

/// The database file after a checkpoint: closing the last connection writes the WAL back.
fn database(data_dir: &Path) -> PathBuf {
    let file = data_dir.join("pinhole.db");
    Connection::open(&file).unwrap().execute_batch("SELECT count(*) FROM posts").unwrap();
    file
}

#[test]
fn photos_are_not_removed_as_orphans_when_the_database_is_the_wrong_one() {
    let (instance, aside) = (Instance::new(), tempfile::tempdir().unwrap());
    let [older, newer] = ["older.db", "newer.db"].map(|name| aside.path().join(name));
    fs::copy(database(instance.path()), &older).unwrap();
    let service = Service::start_in(instance.path(), &[]);
    let post = instance.users.ada.with_base(service.base()).share(&e2e::picture::tiny(), "since then");
    service.terminate();
    service.assert_clean_exit();
    fs::copy(database(instance.path()), &newer).unwrap();
    let other = tempfile::tempdir().unwrap();
    let service = Service::start_in(other.path(), &[]);
    service.terminate();
    service.assert_clean_exit();

    // Old enough that none of them counts as an upload in progress.
    let photo = post["photo"]["id"].as_str().unwrap();
    for shard in fs::read_dir(instance.path().join("photos")).unwrap() {
        for folder in fs::read_dir(shard.unwrap().path()).unwrap() {
            let folder = File::open(folder.unwrap().path()).unwrap();
            folder.set_modified(SystemTime::now() - TWO_HOURS).unwrap();
        }
    }
    let before = files(instance.path());
    for (wrong, expected) in [(older, photo), (database(other.path()), "5 photos")] {
        fs::copy(wrong, database(instance.path())).unwrap();
        instance.assert_problem("orphans", &[expected, "younger", "Is this the right database?"]);
        let (healthy, findings) = run_doctor(instance.path(), &["--fix"]);
        assert!(!healthy && finding(&findings, "orphans")["fixed"].is_null(), "{findings:?}");
        assert!(files(instance.path()) == before, "nothing is removed");
    }
    fs::copy(newer, database(instance.path())).unwrap();
    assert!(run_doctor(instance.path(), &[]).0, "healthy with the right database");
}

#[test]
fn more_orphans_than_photos_are_not_removed() {
    let instance = Instance::new();
    let orphans: Vec<PathBuf> = (10..35)
        .map(|n| create_orphan(&instance, &format!("0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a{n}"), TWO_HOURS))
        .collect();
    instance.assert_problem("orphans", &["25 photos", "far more than the 4", "Is this the right database?"]);
    assert!(!run_doctor(instance.path(), &["--fix"]).0);
    assert!(orphans.iter().all(|orphan| orphan.exists()));
    fs::remove_dir_all(&orphans[0]).unwrap();
    instance.assert_fixed("orphans");
    assert!(orphans.iter().all(|orphan| !orphan.exists()));
    instance.assert_intact();
}

#[test]
fn posts_with_missing_blobs_are_reported_and_never_removed() {
    let instance = Instance::new();
    let service = Service::start_in(instance.path(), &[]);
    let lost =
        instance.users.ada.with_base(service.base()).share(&e2e::picture::photograph(600, 600), "lost");
    let photo = lost["photo"]["id"].as_str().unwrap().to_owned();
    service.terminate();
    service.assert_clean_exit();
    let folder = instance.path().join("photos").join(&photo[34..]).join(&photo);
    let path = photo_file(instance.path(), &photo, "512");
    let master = fs::read(&path).unwrap();

    fs::write(&path, &master[..master.len() / 2]).unwrap();
    instance.assert_problem("photos", &[&photo, "backup"]);
    fs::remove_file(&path).unwrap();
    instance.assert_problem("photos", &[&photo]);
    fs::rename(&folder, instance.path().join("aside")).unwrap();
    instance.assert_problem("photos", &[&photo]);
    let (healthy, findings) = run_doctor(instance.path(), &["--fix"]);
    assert!(!healthy && finding(&findings, "photos")["fixed"].is_null(), "{findings:?}");
    assert_eq!(instance.count("SELECT count(*) FROM posts WHERE message = 'lost'"), 1);

    fs::rename(instance.path().join("aside"), &folder).unwrap();
    fs::write(&path, master).unwrap();
    assert!(run_doctor(instance.path(), &[]).0, "healthy after the files were put back");
}

#[test]
fn a_missing_photos_folder_is_reported_as_not_mounted() {
    let instance = Instance::new();
    let (photos, aside) = (instance.path().join("photos"), instance.path().join("aside"));
    fs::rename(&photos, &aside).unwrap();
    instance.assert_problem("photos", &["none has its files", "mounted"]);
    let archive = instance.path().join("backup.tar");
    let backup = ["backup", archive.to_str().unwrap()];
    assert_contains(&pinhole_fails(instance.path(), &backup), &["none of 4 photos", "mounted"]);
    assert!(!archive.exists());
    fs::rename(&aside, &photos).unwrap();
    instance.assert_intact();
}

#[test]
fn overdue_uploads_and_removals_are_finished() {
    let instance = Instance::new();
    let (unfinished, removed) =
        ("0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5d", "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5e");
    let folders = [unfinished, removed].map(|id| create_orphan(&instance, id, TWO_HOURS));
    let blob = |id: &str| id.replace('-', "");
    instance.sql(&format!("INSERT INTO uploads (photo_id, started_at) VALUES (x'{}', 5)", blob(unfinished)));
    instance.sql(&format!("INSERT INTO removals (photo_id, since) VALUES (x'{}', 5)", blob(removed)));
    let (healthy, findings) = run_doctor(instance.path(), &[]);
    assert!(!healthy);
    for check in ["uploads", "removals"] {
        assert_eq!(finding(&findings, check)["level"], "problem", "{findings:?}");
    }
    assert_eq!(
        finding(&findings, "orphans")["level"],
        "ok",
        "a blob with an upload or removal row is no orphan"
    );
    instance.assert_fixed("removals");
    assert_eq!(instance.count("SELECT (SELECT count(*) FROM uploads) + (SELECT count(*) FROM removals)"), 0);
    assert!(folders.iter().all(|folder| !folder.exists()));

    // A late write of this blob may still arrive, so its removal row has to stay until then.
    let late = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5f";
    let folder = create_orphan(&instance, late, TWO_HOURS);
    instance.sql(&format!(
        "INSERT INTO removals (photo_id, since) VALUES (x'{}', unixepoch() * 1000000 + 300000000)",
        blob(late)
    ));
    assert!(run_doctor(instance.path(), &["--fix"]).0);
    assert!(folder.exists() && instance.count("SELECT count(*) FROM removals") == 1);
    instance.sql("UPDATE removals SET since = 5");
    instance.assert_fixed("removals");
    assert!(!folder.exists());
    instance.assert_intact();
}

#[test]
fn wrong_sequences_sessions_timestamps_references_and_pages_are_found() {
    let instance = Instance::new();
    instance.sql("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'users'");
    instance.assert_problem("ids", &["users", "--fix"]);
    instance.assert_fixed("ids");

    instance
        .sql("INSERT INTO sessions (token_hash, user_id, created_at, last_used_at) VALUES (x'01', 1, 5, 5)");
    let (healthy, findings) = run_doctor(instance.path(), &[]);
    assert!(healthy && finding(&findings, "sessions")["level"] == "note", "{findings:?}");
    instance.assert_fixed("sessions");

    instance.sql(
        "UPDATE posts SET created_at = created_at + 864000000000 WHERE id = (SELECT max(id) FROM posts)",
    );
    instance.assert_problem("clock", &["the newest row is dated", "NTP"]);
    instance.sql(
        "UPDATE posts SET created_at = created_at - 864000000000 WHERE id = (SELECT max(id) FROM posts)",
    );

    instance.sql("PRAGMA foreign_keys = OFF; INSERT INTO idempotency_keys VALUES (99, 'k', 1, 5, NULL)");
    instance.assert_problem("database", &["idempotency_keys", "restore the last good backup"]);
    instance.sql("DELETE FROM idempotency_keys WHERE user_id = 99");
    instance.assert_intact();

    // Overwrites a page in the file itself; closing the last connection has written the WAL back.
    let page = instance.count("SELECT rootpage FROM sqlite_schema WHERE name = 'likes'");
    let file = instance.path().join("pinhole.db");
    let mut bytes = fs::read(&file).unwrap();
    let offset = (usize::try_from(page).unwrap() - 1) * 4096;
    bytes[offset..offset + 64].fill(0xA5);
    fs::write(&file, bytes).unwrap();
    let (healthy, findings) = run_doctor(instance.path(), &[]);
    assert!(!healthy && finding(&findings, "database")["level"] == "problem", "{findings:?}");
}

#[test]
fn settings_disk_space_and_file_permissions_are_checked() {
    let instance = Instance::new();
    for (flags, check, expected) in [
        (["--admin-listen", "0.0.0.0:9090"], "settings", "admin_token"),
        (["--admins", "no-such-user"], "admins", "no-such-user"),
    ] {
        let (healthy, findings) = run_doctor(instance.path(), &flags);
        assert!(!healthy && finding(&findings, check).to_string().contains(expected), "{findings:?}");
    }
    let (healthy, findings) = run_doctor(instance.path(), &["--cache-disk", "99999GiB"]);
    assert!(healthy && finding(&findings, "disk")["level"] == "note", "{findings:?}");
    for (open, mode) in [(instance.path().to_owned(), 0o755), (instance.path().join("pinhole.db"), 0o644)] {
        fs::set_permissions(open, Permissions::from_mode(mode)).unwrap();
    }
    instance.assert_problem("folder", &["every user of this machine", "chmod"]);
    assert_contains(&pinhole_fails(instance.path(), &["doctor", "--fixx"]), &["--fix"]);
}

#[test]
fn a_corrupt_database_file_is_reported_with_advice_to_restore_a_backup() {
    let instance = Instance::new();
    let path = instance.path().join("pinhole.db");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, "no page of a database ".repeat(999)).unwrap();
    instance.assert_problem("open", &["is damaged", "keep a copy", "backup"]);
    fs::write(&path, whole).unwrap();
    instance.assert_intact();
}
