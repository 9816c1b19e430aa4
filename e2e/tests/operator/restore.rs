//! What a restore refuses or leaves out: rows that the API would not accept, damage, and sessions.

use std::path::Path;

use e2e::{Service, picture};
use rusqlite::Connection;

use crate::backup::{assert_healthy, pinhole, pinhole_fails, stop};
use crate::snapshot::Users;
use crate::start::{assert_contains, run};

/// The exit code of a restore that left something out.
const INCOMPLETE: i32 = 3;

/// An instance that is not running, and a path for its backup.
fn stopped_instance(folder: &Path) -> (std::path::PathBuf, String) {
    let (data, archive) = (folder.join("data"), folder.join("backup.tar"));
    let service = Service::start_in(&data, &[]);
    Users::create(&service);
    stop(service);
    (data, archive.to_str().unwrap().to_owned())
}

/// Restores with `--skip-damaged`, which must leave something out, and returns what it printed.
#[track_caller]
fn restore_incompletely(data_dir: &Path, archive: &str) -> String {
    let arguments = ["restore", "--skip-damaged", archive, "--data-dir", data_dir.to_str().unwrap()];
    let output = run(&arguments, &[]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(INCOMPLETE), "{printed}");
    printed
}

/// A username with quotes once wrote JSON into the feed, and a hash can demand any amount of memory.
#[test]
fn rows_that_the_api_would_refuse_stop_a_restore_and_a_migration() {
    let folder = tempfile::tempdir().unwrap();
    let (data, archive) = stopped_instance(folder.path());
    let elsewhere = folder.path().join("elsewhere");
    let injection = "x\",\"admin\":\"";
    let database = Connection::open(data.join("pinhole.db")).unwrap();
    database.execute("UPDATE users SET username = ?1, username_key = ?1 WHERE id = 2", [injection]).unwrap();
    database
        .execute(
            "UPDATE users SET password_hash = replace(password_hash, 'm=19456', 'm=8388608') WHERE id = 3",
            [],
        )
        .unwrap();
    drop(database);
    pinhole(&data, &["backup", &archive]);

    let at = "facts/users/000001/rows.jsonl line";
    let refused = [at, "2 (id 2)", "username: a username may contain only", "--skip-damaged"];
    assert_contains(
        &pinhole_fails(&elsewhere, &["restore", &archive]),
        &[&[archive.as_str()][..], &refused].concat(),
    );
    let verified = pinhole_fails(&data, &["backup", "verify", &archive]);
    assert_contains(&verified, &[refused[0], refused[1], refused[2], "3 (id 3)", "m=8388608"]);
    let to = elsewhere.to_str().unwrap();
    let migrated = pinhole_fails(&data, &["migrate", "--finish", "--to-database", to, "--to-blobs", to]);
    assert_contains(&migrated, &["users with id 2", "username: "]);
    let users: i64 = Connection::open(elsewhere.join("pinhole.db"))
        .unwrap()
        .query_row("SELECT count(*) FROM users", [], |row| row.get(0))
        .unwrap();
    assert_eq!(users, 0, "nothing is restored before everything is valid");

    // Bob's two posts go with him, and so do the likes of these, and their photos.
    let printed = restore_incompletely(&elsewhere, &archive);
    assert_contains(
        &printed,
        &["left out: ", "(id 2)", "(id 3)", "there is no user 2", "2 photos that nothing"],
    );
    assert_contains(&printed, &["that cannot be used: 1 user, 1 post, 0 likes and 2 photos"]);
    assert_healthy(&elsewhere);
    let restored = Service::start_in(&elsewhere, &[]);
    let feed = restored.anonymous().login("Ada").get("/feed").expect(200).json();
    let posts = feed["data"].as_array().unwrap().clone();
    assert_eq!((posts.len(), posts[0]["like_count"].as_i64()), (1, Some(0)));
}

#[test]
fn the_rest_of_a_corrupt_archive_can_be_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (data, archive) = stopped_instance(folder.path());
    let elsewhere = folder.path().join("elsewhere");
    pinhole(&data, &["backup", &archive]);
    let intact = std::fs::read(&archive).unwrap();
    let find = |text: &str| intact.windows(text.len()).position(|w| w == text.as_bytes()).unwrap();

    // A photo, and the syntax of the first post.
    let mut corrupt = intact.clone();
    for at in [find("photos/") + 4_096, find("{\"id\":1,\"user_id\"")] {
        corrupt[at] ^= 0x10;
    }
    std::fs::write(&archive, corrupt).unwrap();
    pinhole_fails(&elsewhere, &["restore", &archive]);
    let printed = restore_incompletely(&elsewhere, &archive);
    let first_photo = String::from_utf8_lossy(&intact[..43]).into_owned();
    assert_contains(
        &printed,
        &[&first_photo, "facts/posts/000001/rows.jsonl line 1", "that cannot be used: 3 users"],
    );
    assert_healthy(&elsewhere);
    let restored = Service::start_in(&elsewhere, &[]);
    let bob = restored.anonymous().login("bob");
    let posts = bob.get("/feed").expect(200).json()["data"].as_array().unwrap().clone();
    assert!(!posts.is_empty() && posts.iter().all(|post| post["user"]["username"] == "bob"), "{posts:?}");
    bob.share(&picture::tiny(), "after");
    stop(restored);

    // Nothing is left of an archive without its rows.
    let nowhere = folder.path().join("nowhere");
    std::fs::write(&archive, &intact[..find("facts/")]).unwrap();
    assert_contains(
        &pinhole_fails(&nowhere, &["restore", "--skip-damaged", &archive]),
        &["no user", "truncated"],
    );
}

#[test]
fn a_restore_ends_all_sessions_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    let archive = folder.path().join("backup.tar");
    let archive = archive.to_str().unwrap();
    let service = Service::start(&[]);
    let ada = service.anonymous().join("Ada");
    pinhole(service.data_dir(), &["backup", archive]);
    assert_contains(
        &pinhole(&elsewhere, &["restore", archive]),
        &["1 session not restored", "--keep-sessions"],
    );
    let restored = Service::start_in(&elsewhere, &[]);
    ada.with_base(restored.base()).get("/me").expect(401);
    restored.anonymous().login("Ada").get("/me").expect(200);
}
