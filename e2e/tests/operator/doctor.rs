//! The doctor: finds every kind of damage that is made by hand, and mends what it says it mends.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use e2e::Service;
use rusqlite::Connection;
use serde_json::Value;

use crate::backup::refused;
use crate::snapshot::{People, Snapshot, files};
use crate::start::{assert_says, run};

/// What it finds, by check; settings come more than once.
fn examined(data_dir: &Path, flags: &[&str]) -> (bool, Vec<Value>) {
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

fn finding(findings: &[Value], check: &str) -> Value {
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("{check} was not examined: {findings:?}")).clone()
}

struct Patient {
    folder: tempfile::TempDir,
    people: People,
    before: Snapshot,
}

impl Patient {
    /// A healthy one, asleep.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start_in(folder.path(), &[]);
        let people = People::settle(&service);
        let before = Snapshot::take(&service, &people);
        service.terminate();
        service.assert_ends_well();
        let patient = Self { folder, people, before };
        let (healthy, findings) = examined(patient.path(), &[]);
        assert!(healthy, "{findings:?}");
        patient
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

    /// Asserts that one check complains in these words, and none of the others.
    #[track_caller]
    fn assert_suffers(&self, check: &str, words: &[&str]) {
        let (healthy, findings) = examined(self.path(), &[]);
        assert!(!healthy, "{findings:?}");
        let bad: Vec<&Value> = findings.iter().filter(|finding| finding["level"] == "problem").collect();
        assert!(bad.len() == 1 && bad[0]["check"] == check, "{bad:?}");
        assert_says(&bad[0].to_string(), words);
        assert!(bad[0]["advice"].is_string(), "{bad:?}");
    }

    #[track_caller]
    fn assert_fixed(&self, check: &str) {
        let (healthy, findings) = examined(self.path(), &["--fix"]);
        assert!(healthy && finding(&findings, check)["fixed"].is_string(), "{findings:?}");
        let (healthy, findings) = examined(self.path(), &[]);
        assert!(healthy && finding(&findings, check)["level"] == "ok", "{findings:?}");
    }

    #[track_caller]
    fn assert_recovered(&self) {
        let service = Service::start_in(self.path(), &[]);
        self.before.assert_lives_on_in(&service, &self.people);
    }
}

/// A folder of a photo that nobody knows, as old as that.
fn stray(patient: &Patient, id: &str, age: Duration) -> PathBuf {
    let place = patient.path().join("photos").join(&id[34..]).join(id);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("8"), "not a picture").unwrap();
    File::open(&place).unwrap().set_modified(SystemTime::now() - age).unwrap();
    place
}

const HOURS: Duration = Duration::from_secs(2 * 60 * 60);

#[test]
fn a_healthy_instance_is_called_so_while_it_runs_and_left_alone() {
    let service = Service::start(&[]);
    let people = People::settle(&service);
    let output = run(&["doctor", "--data-dir", service.data_dir().to_str().unwrap()], &[]);
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words}");
    assert_says(&words, &["All is well.", "3 members, 3 posts, 4 photos", "all 4 have their bytes"]);
    assert!(words.lines().all(|line| !line.starts_with("PROBLEM")), "{words}");

    let (healthy, findings) = examined(service.data_dir(), &["--fix"]);
    assert!(!healthy && finding(&findings, "open")["what"].as_str().unwrap().contains("already running"));
    service.assert_alive();
    people.ada.get("/me").expect(200);
    let nowhere = service.data_dir().join("nowhere");
    for flags in [&[][..], &["--fix"]] {
        let (healthy, findings) = examined(&nowhere, flags);
        assert!(!healthy && finding(&findings, "open")["what"].as_str().unwrap().contains("no database"));
    }
    assert!(!nowhere.exists());
}

#[test]
fn likes_are_counted_anew() {
    let patient = Patient::new();
    patient.sql("UPDATE posts SET like_count = like_count + 3 WHERE id = 1");
    patient.assert_suffers("likes", &["post 1 counts 4, has 1", "--fix"]);
    patient.assert_fixed("likes");
    patient.assert_recovered();
}

#[test]
fn bytes_without_rows_are_removed_once_they_are_old() {
    let patient = Patient::new();
    let young = stray(&patient, "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b", Duration::ZERO);
    assert!(examined(patient.path(), &["--fix"]).0, "it may be on its way in");
    assert!(young.exists());
    fs::remove_dir_all(&young).unwrap();
    let old = stray(&patient, "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5c", HOURS);
    patient.assert_suffers("orphans", &["4a5c", "--fix"]);
    assert!(old.exists());
    patient.assert_fixed("orphans");
    assert!(!old.exists());
    patient.assert_recovered();
}

/// The file with everything in it: whoever closes it last writes the log back.
fn database(data_dir: &Path) -> PathBuf {
    let file = data_dir.join("pinhole.db");
    Connection::open(&file).unwrap().execute_batch("SELECT count(*) FROM posts").unwrap();
    file
}

#[test]
fn the_photos_of_another_database_are_not_taken_for_orphans() {
    let (patient, aside) = (Patient::new(), tempfile::tempdir().unwrap());
    let [older, newer] = ["older.db", "newer.db"].map(|name| aside.path().join(name));
    fs::copy(database(patient.path()), &older).unwrap();
    let service = Service::start_in(patient.path(), &[]);
    let post = patient.people.ada.moved_to(service.base()).share(&e2e::picture::tiny(), "since then");
    service.terminate();
    service.assert_ends_well();
    fs::copy(database(patient.path()), &newer).unwrap();
    let stranger = tempfile::tempdir().unwrap();
    let service = Service::start_in(stranger.path(), &[]);
    service.terminate();
    service.assert_ends_well();

    // Long enough ago for none of them to be on its way in.
    let photo = post["photo"]["id"].as_str().unwrap();
    for shelf in fs::read_dir(patient.path().join("photos")).unwrap() {
        for place in fs::read_dir(shelf.unwrap().path()).unwrap() {
            let place = File::open(place.unwrap().path()).unwrap();
            place.set_modified(SystemTime::now() - HOURS).unwrap();
        }
    }
    let before = files(patient.path());
    for (wrong, words) in [(older, photo), (database(stranger.path()), "5 photos")] {
        fs::copy(wrong, database(patient.path())).unwrap();
        patient.assert_suffers("orphans", &[words, "younger", "Is this the right database?"]);
        let (healthy, findings) = examined(patient.path(), &["--fix"]);
        assert!(!healthy && finding(&findings, "orphans")["fixed"].is_null(), "{findings:?}");
        assert!(files(patient.path()) == before, "nothing is removed");
    }
    fs::copy(newer, database(patient.path())).unwrap();
    assert!(examined(patient.path(), &[]).0, "with the right one all is well");
}

#[test]
fn more_orphans_than_photos_are_a_question() {
    let patient = Patient::new();
    let strays: Vec<PathBuf> =
        (10..35).map(|n| stray(&patient, &format!("0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a{n}"), HOURS)).collect();
    patient.assert_suffers("orphans", &["25 photos", "far more than the 4", "Is this the right database?"]);
    assert!(!examined(patient.path(), &["--fix"]).0);
    assert!(strays.iter().all(|stray| stray.exists()));
    fs::remove_dir_all(&strays[0]).unwrap();
    patient.assert_fixed("orphans");
    assert!(strays.iter().all(|stray| !stray.exists()));
    patient.assert_recovered();
}

#[test]
fn rows_without_bytes_are_named_and_never_removed() {
    let patient = Patient::new();
    let service = Service::start_in(patient.path(), &[]);
    let lost = patient.people.ada.moved_to(service.base()).share(&e2e::picture::photograph(600, 600), "lost");
    let photo = lost["photo"]["id"].as_str().unwrap().to_owned();
    service.terminate();
    service.assert_ends_well();
    let place = patient.path().join("photos").join(&photo[34..]).join(&photo);
    let square = fs::read(place.join("512")).unwrap();

    fs::write(place.join("512"), &square[..square.len() / 2]).unwrap();
    patient.assert_suffers("photos", &[&photo, "backup"]);
    fs::remove_file(place.join("512")).unwrap();
    patient.assert_suffers("photos", &[&photo]);
    fs::rename(&place, patient.path().join("aside")).unwrap();
    patient.assert_suffers("photos", &[&photo]);
    let (healthy, findings) = examined(patient.path(), &["--fix"]);
    assert!(!healthy && finding(&findings, "photos")["fixed"].is_null(), "{findings:?}");
    assert_eq!(patient.count("SELECT count(*) FROM posts WHERE message = 'lost'"), 1);

    fs::rename(patient.path().join("aside"), &place).unwrap();
    fs::write(place.join("512"), square).unwrap();
    assert!(examined(patient.path(), &[]).0, "put back from a copy");
}

#[test]
fn a_disk_that_is_not_mounted_is_no_loss() {
    let patient = Patient::new();
    let (photos, aside) = (patient.path().join("photos"), patient.path().join("aside"));
    fs::rename(&photos, &aside).unwrap();
    patient.assert_suffers("photos", &["not one has its bytes", "mounted"]);
    let archive = patient.path().join("backup.tar");
    let backup = ["backup", "--skip-missing", archive.to_str().unwrap()];
    assert_says(&refused(patient.path(), &backup), &["not one of 4 photos", "mounted"]);
    assert!(!archive.exists());
    fs::rename(&aside, &photos).unwrap();
    patient.assert_recovered();
}

#[test]
fn uploads_and_removals_that_linger_are_brought_to_an_end() {
    let patient = Patient::new();
    let (half, gone) = ("0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5d", "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5e");
    let places = [half, gone].map(|id| stray(&patient, id, HOURS));
    let blob = |id: &str| id.replace('-', "");
    patient.sql(&format!("INSERT INTO uploads (photo_id, started_at) VALUES (x'{}', 5)", blob(half)));
    patient.sql(&format!("INSERT INTO removals (photo_id, since) VALUES (x'{}', 5)", blob(gone)));
    let (healthy, findings) = examined(patient.path(), &[]);
    assert!(!healthy);
    for check in ["uploads", "removals"] {
        assert_eq!(finding(&findings, check)["level"], "problem", "{findings:?}");
    }
    assert_eq!(finding(&findings, "orphans")["level"], "ok", "rows speak of them");
    patient.assert_fixed("removals");
    assert_eq!(patient.count("SELECT (SELECT count(*) FROM uploads) + (SELECT count(*) FROM removals)"), 0);
    assert!(places.iter().all(|place| !place.exists()));

    // Bytes of this one may still arrive, so its note has to outlast them.
    let late = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5f";
    let place = stray(&patient, late, HOURS);
    patient.sql(&format!(
        "INSERT INTO removals (photo_id, since) VALUES (x'{}', unixepoch() * 1000000 + 300000000)",
        blob(late)
    ));
    assert!(examined(patient.path(), &["--fix"]).0);
    assert!(place.exists() && patient.count("SELECT count(*) FROM removals") == 1);
    patient.sql("UPDATE removals SET since = 5");
    patient.assert_fixed("removals");
    assert!(!place.exists());
    patient.assert_recovered();
}

#[test]
fn what_the_database_itself_gets_wrong_is_found() {
    let patient = Patient::new();
    patient.sql("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'users'");
    patient.assert_suffers("ids", &["users", "--fix"]);
    patient.assert_fixed("ids");

    patient
        .sql("INSERT INTO sessions (token_hash, user_id, created_at, last_used_at) VALUES (x'01', 1, 5, 5)");
    let (healthy, findings) = examined(patient.path(), &[]);
    assert!(healthy && finding(&findings, "sessions")["level"] == "note", "{findings:?}");
    patient.assert_fixed("sessions");

    patient.sql(
        "UPDATE posts SET created_at = created_at + 864000000000 WHERE id = (SELECT max(id) FROM posts)",
    );
    patient.assert_suffers("clock", &["something was written at", "NTP"]);
    patient.sql(
        "UPDATE posts SET created_at = created_at - 864000000000 WHERE id = (SELECT max(id) FROM posts)",
    );

    patient.sql("PRAGMA foreign_keys = OFF; INSERT INTO idempotency_keys VALUES (99, 'k', 1, 5)");
    patient.assert_suffers("database", &["idempotency_keys", "restore the last good backup"]);
    patient.sql("DELETE FROM idempotency_keys WHERE user_id = 99");
    patient.assert_recovered();

    // A page of the file itself; whoever closes it last has written the log back.
    let page = patient.count("SELECT rootpage FROM sqlite_schema WHERE name = 'likes'");
    let file = patient.path().join("pinhole.db");
    let mut bytes = fs::read(&file).unwrap();
    let begin = (usize::try_from(page).unwrap() - 1) * 4096;
    bytes[begin..begin + 64].fill(0xA5);
    fs::write(&file, bytes).unwrap();
    let (healthy, findings) = examined(patient.path(), &[]);
    assert!(!healthy && finding(&findings, "database")["level"] == "problem", "{findings:?}");
}

#[test]
fn settings_and_the_folder_are_looked_at_too() {
    let patient = Patient::new();
    for (flags, check, words) in [
        (["--admin-listen", "0.0.0.0:9090"], "settings", "admin_token"),
        (["--admins", "nobody-yet"], "admins", "nobody-yet"),
    ] {
        let (healthy, findings) = examined(patient.path(), &flags);
        assert!(!healthy && finding(&findings, check).to_string().contains(words), "{findings:?}");
    }
    let (healthy, findings) = examined(patient.path(), &["--cache-disk", "99999GiB"]);
    assert!(healthy && finding(&findings, "disk")["level"] == "note", "{findings:?}");
    for (open, mode) in [(patient.path().to_owned(), 0o755), (patient.path().join("pinhole.db"), 0o644)] {
        fs::set_permissions(open, Permissions::from_mode(mode)).unwrap();
    }
    patient.assert_suffers("folder", &["every user of this machine", "chmod"]);
    assert_says(&refused(patient.path(), &["doctor", "--fixx"]), &["--fix"]);
}

#[test]
fn a_damaged_file_is_called_so_and_leads_to_a_backup() {
    let patient = Patient::new();
    let path = patient.path().join("pinhole.db");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, "no page of a database ".repeat(999)).unwrap();
    patient.assert_suffers("open", &["is damaged", "keep a copy", "backup"]);
    fs::write(&path, whole).unwrap();
    patient.assert_recovered();
}
