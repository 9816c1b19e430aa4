//! A migration from SQLite to PostgreSQL and S3 and back keeps every user, post and photo.

use std::sync::atomic::{AtomicBool, Ordering};

use e2e::cluster::{Bucket, fresh_database};
use e2e::{FormData, Service};

use crate::backup::pinhole;
use crate::snapshot::{Snapshot, Users};
use crate::start::{assert_contains, run};

/// The URLs of an empty database and an empty bucket.
fn fresh_stores() -> [String; 2] {
    [fresh_database(), Bucket::fresh().url().to_owned()]
}

fn settings([database, bucket]: &[String; 2]) -> [&str; 4] {
    ["--database-url", database, "--blobs-url", bucket]
}

fn stop(service: Service) {
    service.terminate();
    service.assert_clean_exit();
}

#[test]
fn embedded_to_cluster_by_archive_and_back_by_migrating() {
    let workdir = tempfile::tempdir().unwrap();
    let [old, node, new] = ["old", "node", "new"].map(|name| workdir.path().join(name));
    let archive = workdir.path().join("backup.tar");
    let archive = archive.to_str().unwrap();
    let cluster = fresh_stores();

    let service = Service::start_in(&old, &[]);
    let users = Users::create(&service);
    let before = Snapshot::take(&service, &users);
    pinhole(&old, &["backup", archive]);
    drop(service);

    pinhole(&node, &[&["restore", "--keep-sessions", archive][..], &settings(&cluster)].concat());
    let service = Service::start_in(&node, &settings(&cluster));
    before.assert_preserved_in(&service, &users);

    // Back, with the writes since the restore.
    let to = new.to_str().unwrap();
    let migrate = [&["migrate", "--to-database", to, "--to-blobs", to][..], &settings(&cluster)].concat();
    pinhole(&node, &migrate);
    let before = Snapshot::take(&service, &users);
    stop(service);
    assert_contains(&pinhole(&node, &[&migrate[..], &["--finish"]].concat()), &["0 of 5 photos copied"]);
    assert_contains(&pinhole(&node, &[&migrate[..], &["--verify"]].concat()), &["identical"]);
    let service = Service::start_in(&new, &[]);
    before.assert_preserved_in(&service, &users);
}

#[test]
fn a_migration_cannot_finish_while_a_node_still_runs() {
    let workdir = tempfile::tempdir().unwrap();
    let [node, new] = ["node", "new"].map(|name| workdir.path().join(name));
    let (cluster, to) = (fresh_stores(), new.to_str().unwrap());
    let service = Service::start_in(&node, &settings(&cluster));
    let users = Users::create(&service);
    let finish =
        [&["migrate", "--to-database", to, "--to-blobs", to, "--finish"][..], &settings(&cluster)].concat();

    let is_over = AtomicBool::new(false);
    let printed = std::thread::scope(|scope| {
        scope.spawn(|| {
            let path = format!("/posts/{}", users.keyed);
            let mut edits = 0;
            while !is_over.load(Ordering::Relaxed) {
                edits += 1;
                users.bob.put(&path, FormData::message(&format!("edit {edits}"))).expect(200);
            }
        });
        let output = run(&[&finish[..], &["--data-dir", node.to_str().unwrap()]].concat(), &[]);
        is_over.store(true, Ordering::Relaxed);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    });
    assert_contains(
        &printed,
        &["a service still runs on it", "Stop every node of it, then run this with --finish again"],
    );

    let before = Snapshot::take(&service, &users);
    stop(service);
    assert_contains(&pinhole(&node, &finish), &["rows imported"]);
    let service = Service::start_in(&new, &[]);
    before.assert_preserved_in(&service, &users);
}

#[test]
fn embedded_to_cluster_by_migrating_and_back_by_archive() {
    let workdir = tempfile::tempdir().unwrap();
    let [old, node, new] = ["old", "node", "new"].map(|name| workdir.path().join(name));
    let archive = workdir.path().join("backup.tar");
    let archive = archive.to_str().unwrap();
    let cluster = fresh_stores();

    let service = Service::start_in(&old, &[]);
    let users = Users::create(&service);
    let migrate = ["migrate", "--to-database", &cluster[0], "--to-blobs", &cluster[1]];
    assert_contains(&pinhole(&old, &[&migrate[..], &["--dry-run"]].concat()), &["4 to copy"]);
    assert_contains(&pinhole(&old, &migrate), &["4 of 4 photos copied"]);
    assert_contains(&pinhole(&old, &migrate), &["0 of 4 photos copied"]);
    let before = Snapshot::take(&service, &users);
    stop(service);
    assert_contains(&pinhole(&old, &[&migrate[..], &["--finish"]].concat()), &["0 of 4", "rows imported"]);
    assert_contains(&pinhole(&old, &[&migrate[..], &["--finish"]].concat()), &["0 of 4"]);

    let service = Service::start_in(&node, &settings(&cluster));
    before.assert_preserved_in(&service, &users);
    let before = Snapshot::take(&service, &users);
    pinhole(&node, &[&["backup", archive][..], &settings(&cluster)].concat());
    assert_contains(&pinhole(&node, &["backup", "verify", archive]), &["verified"]);
    pinhole(&node, &[&["doctor"][..], &settings(&cluster)].concat());
    pinhole(&new, &["restore", "--keep-sessions", archive]);
    let service = Service::start_in(&new, &[]);
    before.assert_preserved_in(&service, &users);
}
