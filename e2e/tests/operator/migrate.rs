//! `pinhole migrate`: copies photos while the service runs, and rows after it has stopped.

use std::fs::File;
use std::time::{Duration, SystemTime};

use e2e::{Service, eventually};

use crate::backup::{pinhole, pinhole_fails};
use crate::snapshot::{Snapshot, Users, files};
use crate::start::{assert_contains, run};

#[test]
fn a_migration_of_a_running_service_preserves_everything() {
    let (old, workdir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let new = workdir.path().join("new");
    let service = Service::start_in(old.path(), &[]);
    let users = Users::create(&service);
    let to = new.to_str().unwrap();
    let migrate = ["migrate", "--to-database", to, "--to-blobs", to];
    let with = |flag| [&migrate[..], &[flag]].concat();

    let printed = pinhole(old.path(), &with("--dry-run"));
    assert_contains(&printed, &["4 photos", "3 users", "4 to copy", "will be created"]);
    let [from, onto] = [("from:", old.path()), ("to:  ", new.as_path())]
        .map(|(way, path)| format!("{way} rows in {0}, photos in {0}\n", path.display()));
    assert!(printed.starts_with(&format!("{from}{onto}")), "{printed}");
    assert_contains(
        &pinhole_fails(old.path(), &with("--verify")),
        &["no database", "yet", "without --verify"],
    );
    assert!(!new.exists(), "neither creates the destination");
    assert_contains(&pinhole(old.path(), &migrate), &["4 of 4 photos copied", "--finish"]);
    assert_contains(
        &pinhole_fails(old.path(), &with("--verify")),
        &["the rows are not copied yet", "--finish"],
    );
    assert_contains(&pinhole(old.path(), &migrate), &["0 of 4 photos copied"]);
    assert_contains(&pinhole(old.path(), &with("--dry-run")), &["4 photos already copied, 0 to copy"]);

    // Posts are deleted and created meanwhile, and one copied file is corrupted.
    let deleted = users.ada.get("/users/ada/posts").expect(200).json()["data"][0].clone();
    users.ada.delete(&format!("/posts/{}", deleted["id"])).expect(200);
    users.carol.share(&e2e::picture::photograph(500, 500), "later");
    users.ada.delete("/me/photo").expect(200);
    let (path, _) = files(&new).into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let path = new.join("photos").join(path);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let printed = pinhole_fails(old.path(), &with("--verify"));
    assert!(!printed.contains("Empty"), "{printed}");
    assert_contains(&printed, &["without --verify"]);
    assert_contains(&pinhole(old.path(), &migrate), &["2 of 3 photos copied"]);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_contains(
        &pinhole_fails(old.path(), &with("--verify")),
        &["not copied yet: 1 of 3 photos", "--finish"],
    );
    assert_contains(&pinhole(old.path(), &migrate), &["1 of 3 photos copied"]);

    assert_contains(&pinhole_fails(old.path(), &with("--finish")), &["already running"]);
    // A post just before the service stops.
    users.ada.share_tiny("the very last");
    let before = Snapshot::take(&service, &users);
    service.terminate();
    service.assert_clean_exit();
    let printed = pinhole(old.path(), &with("--finish"));
    assert_contains(
        &printed,
        &["1 of 4 photos copied", "rows imported", &format!("PINHOLE_DATA_DIR={to}\n")],
    );
    assert_contains(
        &pinhole(old.path(), &with("--finish")),
        &["0 of 4 photos copied", "rows already imported"],
    );
    assert_contains(&pinhole_fails(old.path(), &with("--dry-run")), &["not empty", "3 users"]);
    assert_contains(&pinhole(old.path(), &with("--verify")), &["4 photos", "identical"]);

    let service = Service::start_in(&new, &[]);
    eventually("the photo deleted during the migration is removed", Duration::from_secs(30), || {
        let photo = deleted["photo"]["id"].as_str().unwrap();
        let exists = files(&new).into_keys().any(|path| path.to_str().unwrap().contains(photo));
        (!exists).then_some(())
    });
    before.assert_preserved_in(&service, &users);
    assert_contains(&pinhole_fails(old.path(), &with("--verify")), &["differs"]);
    assert_contains(&pinhole_fails(old.path(), &with("--finish")), &["already running"]);
    service.terminate();
    service.assert_clean_exit();
    assert_contains(&pinhole_fails(old.path(), &with("--finish")), &["not empty"]);
    // The source is unchanged.
    Service::start_in(old.path(), &[]).assert_ready();
}

#[test]
fn the_database_or_the_photos_can_be_migrated_alone() {
    let workdir = tempfile::tempdir().unwrap();
    let [old, database, blobs] = ["old", "database", "blobs"].map(|name| workdir.path().join(name));
    let service = Service::start_in(&old, &[]);
    let users = Users::create(&service);
    let before = Snapshot::take(&service, &users);

    let to_blobs = ["migrate", "--to-blobs", blobs.to_str().unwrap()];
    assert_contains(&pinhole(&old, &to_blobs), &["4 of 4 photos copied"]);
    assert!(files(&blobs) == files(&old));
    assert!(!blobs.join("pinhole.db").exists());
    service.terminate();
    service.assert_clean_exit();
    pinhole(&old, &[&to_blobs[..], &["--finish"]].concat());

    let to_database = ["migrate", "--to-database", database.to_str().unwrap()];
    assert_contains(&pinhole(&old, &to_database), &["no photos to copy", "--finish"]);
    let printed = pinhole(&old, &[&to_database[..], &["--finish"]].concat());
    assert_contains(&printed, &["rows imported", "PINHOLE_DATA_DIR=", "after moving"]);
    assert!(!printed.contains("photos copied"), "{printed}");
    assert!(!database.join("photos").exists());
    // Moved back together, they are a complete instance.
    std::fs::rename(blobs.join("photos"), database.join("photos")).unwrap();
    let service = Service::start_in(&database, &[]);
    before.assert_preserved_in(&service, &users);
}

#[test]
fn photos_deleted_after_the_copy_are_reported_as_orphans_and_removed_by_doctor() {
    let workdir = tempfile::tempdir().unwrap();
    let [old, blobs] = ["old", "blobs"].map(|name| workdir.path().join(name));
    let service = Service::start_in(&old, &[]);
    let users = Users::create(&service);
    let deleted = users.ada.share(&e2e::picture::tiny(), "to be deleted");
    users.ada.share_tiny("stays");
    let migrate = ["migrate", "--to-blobs", blobs.to_str().unwrap()];
    assert_contains(&pinhole(&old, &migrate), &["6 of 6 photos copied"]);
    users.ada.delete(&format!("/posts/{}", deleted["id"])).expect(200);
    let before = Snapshot::take(&service, &users);
    service.terminate();
    service.assert_clean_exit();
    let printed = pinhole(&old, &[&migrate[..], &["--finish"]].concat());
    assert_contains(
        &printed,
        &["0 of 5 photos copied", "orphans at the destination: 1 photo,", "doctor --fix"],
    );

    // `doctor --fix` removes the orphan once database and photos are in the same data folder.
    let photo = deleted["photo"]["id"].as_str().unwrap();
    let folder = blobs.join("photos").join(&photo[34..]).join(photo);
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    File::open(folder).unwrap().set_modified(long_ago).unwrap();
    std::fs::remove_dir_all(old.join("photos")).unwrap();
    std::fs::rename(blobs.join("photos"), old.join("photos")).unwrap();
    let output = run(&["doctor", "--fix", "--data-dir", old.to_str().unwrap()], &[]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert_contains(&printed, &["deleted: 1 photo"]);
    let service = Service::start_in(&old, &[]);
    before.assert_preserved_in(&service, &users);
}

#[test]
fn an_invalid_or_identical_destination_is_rejected() {
    let workdir = tempfile::tempdir().unwrap();
    let service = Service::start_in(workdir.path(), &[]);
    let here = workdir.path().join(".");
    let here = here.to_str().unwrap();
    for step in [&[][..], &["--dry-run"], &["--verify"]] {
        let migrate = ["migrate", "--to-database", here, "--to-blobs", here];
        assert_contains(
            &pinhole_fails(workdir.path(), &[&migrate[..], step].concat()),
            &["the current location"],
        );
    }
    let inside = workdir.path().join("inside");
    for step in [&[][..], &["--dry-run"]] {
        let migrate = ["migrate", "--to-blobs", inside.to_str().unwrap()];
        assert_contains(&pinhole_fails(workdir.path(), &[&migrate[..], step].concat()), &["are nested"]);
    }
    assert!(!inside.exists());
    let printed = pinhole_fails(workdir.path(), &["migrate", "--to-blobs", "s3:bucket"]);
    assert_contains(&printed, &["--to-blobs", "a data folder", "s3://"]);
    let printed = pinhole_fails(workdir.path(), &["migrate", "--to-blobs", "ftp://ada:secret@example.org"]);
    assert_contains(&printed, &["--to-blobs", "s3://"]);
    assert!(!printed.contains("secret"), "{printed}");
    service.assert_ready();
}
