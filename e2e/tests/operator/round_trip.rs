//! From one machine to many and back, with the servers that the test script started: everybody and everything
//! arrives.

use std::sync::atomic::{AtomicBool, Ordering};

use e2e::cluster::{Bucket, fresh_database};
use e2e::{Form, Service};

use crate::backup::pinhole;
use crate::snapshot::{People, Snapshot};
use crate::start::{assert_says, run};

/// A database and a bucket of this story's own, as settings.
fn places() -> [String; 2] {
    [fresh_database(), Bucket::fresh().url().to_owned()]
}

fn settings([database, bucket]: &[String; 2]) -> [&str; 4] {
    ["--database-url", database, "--blobs-url", bucket]
}

fn stop(service: Service) {
    service.terminate();
    service.assert_ends_well();
}

#[test]
fn embedded_to_archive_to_cluster_to_embedded() {
    let house = tempfile::tempdir().unwrap();
    let [old, node, new] = ["old", "node", "new"].map(|name| house.path().join(name));
    let archive = house.path().join("backup.tar");
    let archive = archive.to_str().unwrap();
    let cluster = places();

    let service = Service::start_in(&old, &[]);
    let people = People::settle(&service);
    let before = Snapshot::take(&service, &people);
    pinhole(&old, &["backup", archive]);
    drop(service);

    pinhole(&node, &[&["restore", archive][..], &settings(&cluster)].concat());
    let service = Service::start_in(&node, &settings(&cluster));
    before.assert_lives_on_in(&service, &people);

    // Back, with what has been done meanwhile.
    let to = new.to_str().unwrap();
    let migrate = [&["migrate", "--to-database", to, "--to-blobs", to][..], &settings(&cluster)].concat();
    pinhole(&node, &migrate);
    let before = Snapshot::take(&service, &people);
    stop(service);
    assert_says(&pinhole(&node, &[&migrate[..], &["--finish"]].concat()), &["0 of 5 photos copied"]);
    assert_says(&pinhole(&node, &[&migrate[..], &["--verify"]].concat()), &["the same"]);
    let service = Service::start_in(&new, &[]);
    before.assert_lives_on_in(&service, &people);
}

#[test]
fn a_move_does_not_end_while_a_forgotten_node_still_writes() {
    let house = tempfile::tempdir().unwrap();
    let [node, new] = ["node", "new"].map(|name| house.path().join(name));
    let (cluster, to) = (places(), new.to_str().unwrap());
    let service = Service::start_in(&node, &settings(&cluster));
    let people = People::settle(&service);
    let finish =
        [&["migrate", "--to-database", to, "--to-blobs", to, "--finish"][..], &settings(&cluster)].concat();

    let is_over = AtomicBool::new(false);
    let words = std::thread::scope(|scope| {
        scope.spawn(|| {
            let path = format!("/posts/{}", people.keyed);
            let mut edits = 0;
            while !is_over.load(Ordering::Relaxed) {
                edits += 1;
                people.bob.put(&path, Form::message(&format!("edit {edits}"))).expect(200);
            }
        });
        let output = run(&[&finish[..], &["--data-dir", node.to_str().unwrap()]].concat(), &[]);
        is_over.store(true, Ordering::Relaxed);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    });
    assert_says(&words, &["a service still runs on it", "Stop every node of it, then finish again"]);

    let before = Snapshot::take(&service, &people);
    stop(service);
    assert_says(&pinhole(&node, &finish), &["rows imported"]);
    let service = Service::start_in(&new, &[]);
    before.assert_lives_on_in(&service, &people);
}

#[test]
fn embedded_to_cluster_by_migrating_and_back_by_archive() {
    let house = tempfile::tempdir().unwrap();
    let [old, node, new] = ["old", "node", "new"].map(|name| house.path().join(name));
    let archive = house.path().join("backup.tar");
    let archive = archive.to_str().unwrap();
    let cluster = places();

    let service = Service::start_in(&old, &[]);
    let people = People::settle(&service);
    let migrate = ["migrate", "--to-database", &cluster[0], "--to-blobs", &cluster[1]];
    assert_says(&pinhole(&old, &[&migrate[..], &["--dry-run"]].concat()), &["4 are to be copied"]);
    assert_says(&pinhole(&old, &migrate), &["4 of 4 photos copied"]);
    assert_says(&pinhole(&old, &migrate), &["0 of 4 photos copied"]);
    let before = Snapshot::take(&service, &people);
    stop(service);
    assert_says(&pinhole(&old, &[&migrate[..], &["--finish"]].concat()), &["0 of 4", "rows imported"]);
    assert_says(&pinhole(&old, &[&migrate[..], &["--finish"]].concat()), &["0 of 4"]);

    let service = Service::start_in(&node, &settings(&cluster));
    before.assert_lives_on_in(&service, &people);
    let before = Snapshot::take(&service, &people);
    pinhole(&node, &[&["backup", archive][..], &settings(&cluster)].concat());
    assert_says(&pinhole(&node, &["backup", "verify", archive]), &["whole"]);
    pinhole(&node, &[&["doctor"][..], &settings(&cluster)].concat());
    pinhole(&new, &["restore", archive]);
    let service = Service::start_in(&new, &[]);
    before.assert_lives_on_in(&service, &people);
}
