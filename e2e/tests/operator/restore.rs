//! What a restore refuses or leaves out: rows that the API would not accept, damage, and sessions.

use std::fs;
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
    assert_contains(&printed, &["without what is listed above: 1 user, 1 post, 0 likes and 2 photos"]);
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
    let all = |text: &str| positions(&intact, text);

    // A photo, and the syntax of the first post in both copies.
    let mut corrupt = intact.clone();
    let photo = entries(&intact, "photos/")[0];
    for at in [&all("{\"id\":1,\"user_id\"")[..], &[photo + 4_096]].concat() {
        corrupt[at] ^= 0x10;
    }
    std::fs::write(&archive, corrupt).unwrap();
    pinhole_fails(&elsewhere, &["restore", &archive]);
    let printed = restore_incompletely(&elsewhere, &archive);
    let first_photo = String::from_utf8_lossy(&intact[photo..photo + 43]).into_owned();
    let lines = ["copy", "facts"].map(|copy| format!("left out: {copy}/posts/000001/rows.jsonl line 1"));
    assert_contains(
        &printed,
        &[&first_photo, "repaired: photo", &lines[0], &lines[1], "listed above: 3 users"],
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
    std::fs::write(&archive, &intact[..all("copy/users")[0]]).unwrap();
    assert_contains(
        &pinhole_fails(&nowhere, &["restore", "--skip-damaged", &archive]),
        &["no user", "truncated"],
    );
}

/// Where a text stands in an archive.
fn positions(archive: &[u8], text: &str) -> Vec<usize> {
    let matches = archive.windows(text.len()).enumerate().filter(|(_, window)| *window == text.as_bytes());
    matches.map(|(at, _)| at).collect()
}

/// Where the headers of the entries stand whose names start with a text.
fn entries(archive: &[u8], name: &str) -> Vec<usize> {
    positions(archive, name).into_iter().filter(|at| at % 512 == 0).collect()
}

/// The ids of all posts, after each image was loaded.
fn loadable_posts(service: &Service) -> Vec<i64> {
    let feed = service.anonymous().get("/feed?limit=100").expect(200).json();
    let posts = feed["data"].as_array().unwrap().iter();
    let posts = posts.map(|post| {
        let photo = post["photo"]["id"].as_str().unwrap();
        service.anonymous().get(&format!("/photos/{photo}/200x200")).expect(200).picture();
        post["id"].as_i64().unwrap()
    });
    posts.collect()
}

#[test]
fn one_flipped_bit_in_any_part_of_an_archive_loses_no_post() {
    let folder = tempfile::tempdir().unwrap();
    let (data, archive) = (folder.path().join("data"), folder.path().join("backup.tar"));
    let service = Service::start_in(&data, &[]);
    Users::create(&service);
    let posts = loadable_posts(&service);
    stop(service);
    let name = archive.to_str().unwrap();
    pinhole(&data, &["backup", name]);
    let intact = fs::read(&archive).unwrap();
    let header = |text: &str| entries(&intact, text)[0];
    let (content, original) = (512, format!("photos/{}/original", shared_photo(&intact)));
    let photo = original.strip_suffix("original").unwrap();
    let (master, sums) = (format!("{photo}256\0"), format!("{photo}SHA256SUMS"));
    let lost_original = "original is damaged or lost; the images are intact";
    let cases: [(&str, usize, &[&str]); 17] = [
        ("the first header", 3, &["the header after it is invalid"]),
        (
            "the copy of the rows",
            header("copy/posts") + content + 9,
            &["copy/posts/000001/rows.jsonl is damaged"],
        ),
        ("a header in the copy", header("copy/users"), &["damaged: copy/photos"]),
        ("an original", header(&original) + content + 999, &[&original, lost_original]),
        ("the header of an original", header(&original) + 130, &[lost_original]),
        ("a master", header(&master) + content + 99, &["256 is damaged or lost; rebuilt from original"]),
        ("the header of a master", header(&master) + 20, &["256 is damaged or lost; rebuilt from original"]),
        ("a checksum", header(&sums) + content + 5, &["SHA256SUMS is damaged"]),
        ("a name beside a checksum", header(&sums) + content + 68, &["SHA256SUMS is damaged"]),
        ("the header of checksums", header(&sums) + 100, &["the header after it is invalid"]),
        ("the padding of checksums", header(&sums) + 2 * content - 1, &["padding"]),
        ("rows", header("facts/posts") + content + 9, &["posts are completed from the copy"]),
        ("the header of rows", header("facts/posts"), &["posts are completed from the copy"]),
        (
            "the checksum of rows",
            header("facts/likes/000001/SHA256SUMS") + content,
            &["damaged: facts/likes"],
        ),
        ("the manifest", positions(&intact, "\"missing\"")[0] + 1, &["manifest.json is damaged"]),
        ("the header of the manifest", header("manifest.json"), &["the header after it is invalid"]),
        ("the end", intact.len() - 700, &["the header after it is invalid"]),
    ];
    for (what, at, expected) in cases {
        let mut damaged = intact.clone();
        damaged[at] ^= 0x10;
        fs::write(&archive, damaged).unwrap();
        let elsewhere = tempfile::tempdir_in(folder.path()).unwrap();
        let printed = restore_incompletely(elsewhere.path(), name);
        println!("{what}:\n{printed}");
        assert_contains(
            &printed,
            &[expected, &["damaged: ", "3 users, 3 posts, 3 likes and 4 photos"]].concat(),
        );
        assert_healthy(elsewhere.path());
        let restored = Service::start_in(elsewhere.path(), &[]);
        assert_eq!(loadable_posts(&restored), posts, "{what}");
        if expected.contains(&lost_original) {
            let photo = photo.split('/').nth(1).unwrap();
            restored.anonymous().login("Ada").get(&format!("/photos/{photo}/original")).expect(404);
        }
        stop(restored);
    }
}

/// The photo of the post whose message is about corners.
fn shared_photo(archive: &[u8]) -> String {
    let text = String::from_utf8_lossy(archive);
    // The header of the file stands before its first row.
    let mut rows = text.lines().filter_map(|line| Some(&line[line.find("{\"id\":")?..]));
    let row = rows.find(|row| row.contains("Corners") && row.contains("\"photo_id\"")).unwrap();
    let row: serde_json::Value = serde_json::from_str(row).unwrap();
    row["photo_id"].as_str().unwrap().to_owned()
}

#[test]
fn of_a_truncated_archive_every_post_is_restored_whose_photo_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (data, archive) = (folder.path().join("data"), folder.path().join("backup.tar"));
    let service = Service::start_in(&data, &[]);
    let ada = service.new_user("ada");
    for side in [300, 600, 500, 400, 700] {
        ada.share(&picture::jpeg(&picture::corners(side, side)), "a post");
    }
    stop(service);
    let name = archive.to_str().unwrap();
    pinhole(&data, &["backup", name]);
    let intact = fs::read(&archive).unwrap();
    let first = entries(&intact, "photos/")[0];
    // Each photo ends with its checksums: a header and a block.
    let ends: Vec<usize> = positions(&intact, "/SHA256SUMS\0").into_iter().filter(|at| *at > first).collect();
    let ends: Vec<usize> = ends.into_iter().take(5).map(|at| at / 512 * 512 + 1_024).collect();
    let cuts = (0..10).map(|cut| first + (intact.len() - 1_024 - first) * cut / 10);
    for length in cuts.chain(ends.iter().copied()).chain(ends.iter().map(|end| end - 600)) {
        fs::write(&archive, &intact[..length]).unwrap();
        let complete = ends.iter().filter(|end| **end <= length).count();
        let elsewhere = tempfile::tempdir_in(folder.path()).unwrap();
        let printed = restore_incompletely(elsewhere.path(), name);
        assert_contains(&printed, &["truncated", "1 user"]);
        assert_healthy(elsewhere.path());
        let restored = Service::start_in(elsewhere.path(), &[]);
        let posts = loadable_posts(&restored).len();
        // The files of one more may be complete without their checksums.
        assert!(
            (complete..=complete + 1).contains(&posts),
            "{length}: {posts} posts of {complete}:\n{printed}"
        );
        let left_out = printed.lines().filter(|line| line.starts_with("left out: copy/posts")).count();
        assert_eq!(posts + left_out, 5, "{printed}");
        stop(restored);
    }
}

/// A backup of format version 1, which has the rows once, at its end.
#[test]
fn a_backup_of_an_older_version_can_be_restored() {
    let elsewhere = tempfile::tempdir().unwrap();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/restore/backup.tar");
    assert_contains(&String::from_utf8_lossy(&fs::read(archive).unwrap()), &["\"format\": 1,"]);
    pinhole(elsewhere.path(), &["backup", "verify", archive]);
    pinhole(elsewhere.path(), &["restore", archive]);
    assert_healthy(elsewhere.path());
    let restored = Service::start_in(elsewhere.path(), &[]);
    assert!(!loadable_posts(&restored).is_empty());
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
