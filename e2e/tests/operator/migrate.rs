//! Moving: the bytes while the service runs, the rest when it has stopped, and nothing is lost on the way.

use std::fs::File;
use std::time::{Duration, SystemTime};

use e2e::{Service, eventually};

use crate::backup::{pinhole, refused};
use crate::snapshot::{People, Snapshot, files};
use crate::start::{assert_says, run};

#[test]
fn an_instance_moves_while_it_runs_and_arrives_as_it_was() {
    let (old, house) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let new = house.path().join("new");
    let service = Service::start_in(old.path(), &[]);
    let people = People::settle(&service);
    let to = new.to_str().unwrap();
    let migrate = ["migrate", "--to-database", to, "--to-blobs", to];
    let with = |flag| [&migrate[..], &[flag]].concat();

    let words = pinhole(old.path(), &with("--dry-run"));
    assert_says(&words, &["4 photos", "3 members", "4 are to be copied", "will be made"]);
    let [from, onto] = [("from:", old.path()), ("to:  ", new.as_path())]
        .map(|(way, path)| format!("{way} rows in {0}, photos in {0}\n", path.display()));
    assert!(words.starts_with(&format!("{from}{onto}")), "{words}");
    assert_says(&refused(old.path(), &with("--verify")), &["no database", "yet", "without --verify"]);
    assert!(!new.exists(), "neither makes anything");
    assert_says(&pinhole(old.path(), &migrate), &["4 of 4 photos copied", "--finish"]);
    assert_says(&refused(old.path(), &with("--verify")), &["no rows are there yet", "--finish"]);
    assert_says(&pinhole(old.path(), &migrate), &["0 of 4 photos copied"]);
    assert_says(
        &pinhole(old.path(), &with("--dry-run")),
        &["4 photos are there already, 0 are to be copied"],
    );

    // Life goes on meanwhile, and one copy takes damage.
    let gone = people.ada.get("/users/ada/posts").expect(200).json()["data"][0].clone();
    people.ada.delete(&format!("/posts/{}", gone["id"])).expect(200);
    people.carol.share(&e2e::picture::photograph(500, 500), "later");
    people.ada.delete("/me/photo").expect(200);
    let (path, _) = files(&new).into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let path = new.join("photos").join(path);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let words = refused(old.path(), &with("--verify"));
    assert!(!words.contains("Empty"), "{words}");
    assert_says(&words, &["without --verify"]);
    assert_says(&pinhole(old.path(), &migrate), &["2 of 3 photos copied"]);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_says(&refused(old.path(), &with("--verify")), &["not there yet: 1 of 3 photos", "--finish"]);
    assert_says(&pinhole(old.path(), &migrate), &["1 of 3 photos copied"]);

    assert_says(&refused(old.path(), &with("--finish")), &["already running"]);
    // Somebody comes in the last moment.
    people.ada.share_tiny("the very last");
    let before = Snapshot::take(&service, &people);
    service.terminate();
    service.assert_ends_well();
    let words = pinhole(old.path(), &with("--finish"));
    assert_says(&words, &["1 of 4 photos copied", "rows imported", &format!("PINHOLE_DATA_DIR={to}\n")]);
    assert_says(&pinhole(old.path(), &with("--finish")), &["0 of 4 photos copied", "rows there already"]);
    assert_says(&refused(old.path(), &with("--dry-run")), &["not empty", "3 members"]);
    assert_says(&pinhole(old.path(), &with("--verify")), &["4 photos", "the same"]);

    let service = Service::start_in(&new, &[]);
    eventually("what was deleted on the way is gone", Duration::from_secs(30), || {
        let photo = gone["photo"]["id"].as_str().unwrap();
        let traces = files(&new).into_keys().any(|path| path.to_str().unwrap().contains(photo));
        (!traces).then_some(())
    });
    before.assert_lives_on_in(&service, &people);
    assert_says(&refused(old.path(), &with("--verify")), &["not the same"]);
    assert_says(&refused(old.path(), &with("--finish")), &["already running"]);
    service.terminate();
    service.assert_ends_well();
    assert_says(&refused(old.path(), &with("--finish")), &["not empty"]);
    // The old place is as it was.
    Service::start_in(old.path(), &[]).assert_alive();
}

#[test]
fn only_the_database_or_only_the_photos_may_move() {
    let house = tempfile::tempdir().unwrap();
    let [old, database, blobs] = ["old", "database", "blobs"].map(|name| house.path().join(name));
    let service = Service::start_in(&old, &[]);
    let people = People::settle(&service);
    let before = Snapshot::take(&service, &people);

    let to_blobs = ["migrate", "--to-blobs", blobs.to_str().unwrap()];
    assert_says(&pinhole(&old, &to_blobs), &["4 of 4 photos copied"]);
    assert!(files(&blobs) == files(&old));
    assert!(!blobs.join("pinhole.db").exists());
    service.terminate();
    service.assert_ends_well();
    pinhole(&old, &[&to_blobs[..], &["--finish"]].concat());

    let to_database = ["migrate", "--to-database", database.to_str().unwrap()];
    assert_says(&pinhole(&old, &to_database), &["no photos to copy", "--finish"]);
    let words = pinhole(&old, &[&to_database[..], &["--finish"]].concat());
    assert_says(&words, &["rows imported", "PINHOLE_DATA_DIR=", "has been moved to"]);
    assert!(!words.contains("photos copied"), "{words}");
    assert!(!database.join("photos").exists());
    // Put together again they are what they were.
    std::fs::rename(blobs.join("photos"), database.join("photos")).unwrap();
    let service = Service::start_in(&database, &[]);
    before.assert_lives_on_in(&service, &people);
}

#[test]
fn photos_that_were_deleted_after_they_were_copied_are_counted_where_only_photos_move() {
    let house = tempfile::tempdir().unwrap();
    let [old, blobs] = ["old", "blobs"].map(|name| house.path().join(name));
    let service = Service::start_in(&old, &[]);
    let people = People::settle(&service);
    let gone = people.ada.share(&e2e::picture::tiny(), "will be gone");
    people.ada.share_tiny("stays");
    let migrate = ["migrate", "--to-blobs", blobs.to_str().unwrap()];
    assert_says(&pinhole(&old, &migrate), &["6 of 6 photos copied"]);
    people.ada.delete(&format!("/posts/{}", gone["id"])).expect(200);
    let before = Snapshot::take(&service, &people);
    service.terminate();
    service.assert_ends_well();
    let words = pinhole(&old, &[&migrate[..], &["--finish"]].concat());
    assert_says(&words, &["0 of 5 photos copied", "orphans at the destination: 1 photo,", "doctor --fix"]);

    // The doctor does as was said, with the database and the photos where the settings will name them.
    let photo = gone["photo"]["id"].as_str().unwrap();
    let place = blobs.join("photos").join(&photo[34..]).join(photo);
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    File::open(place).unwrap().set_modified(long_ago).unwrap();
    std::fs::remove_dir_all(old.join("photos")).unwrap();
    std::fs::rename(blobs.join("photos"), old.join("photos")).unwrap();
    let output = run(&["doctor", "--fix", "--data-dir", old.to_str().unwrap()], &[]);
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words}");
    assert_says(&words, &["removed: 1 photo"]);
    let service = Service::start_in(&old, &[]);
    before.assert_lives_on_in(&service, &people);
}

#[test]
fn a_move_to_where_it_is_or_to_nowhere_is_refused() {
    let house = tempfile::tempdir().unwrap();
    let service = Service::start_in(house.path(), &[]);
    let here = house.path().join(".");
    let here = here.to_str().unwrap();
    for step in [&[][..], &["--dry-run"], &["--verify"]] {
        let migrate = ["migrate", "--to-database", here, "--to-blobs", here];
        assert_says(&refused(house.path(), &[&migrate[..], step].concat()), &["where it is now"]);
    }
    let inside = house.path().join("inside");
    for step in [&[][..], &["--dry-run"]] {
        let migrate = ["migrate", "--to-blobs", inside.to_str().unwrap()];
        assert_says(&refused(house.path(), &[&migrate[..], step].concat()), &["one in the other"]);
    }
    assert!(!inside.exists());
    let words = refused(house.path(), &["migrate", "--to-blobs", "s3:bucket"]);
    assert_says(&words, &["--to-blobs", "a data folder", "s3://"]);
    let words = refused(house.path(), &["migrate", "--to-blobs", "ftp://ada:secret@example.org"]);
    assert_says(&words, &["--to-blobs", "s3://"]);
    assert!(!words.contains("secret"), "{words}");
    service.assert_alive();
}
