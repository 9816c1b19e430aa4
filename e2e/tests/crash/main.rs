//! The power goes out, again and again, while people write. What was acknowledged is there afterwards.
//!
//! `CRASH_ROUNDS` (20) sets how often, `CRASH_SEED` repeats the choices of an earlier run.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use e2e::ledger::{Recovery, Unanswered, Worker};
use e2e::{Service, eventually};

/// Enough to meet each other in every queue; few, because each costs a password hash.
const WORKERS: usize = 4;
/// The service should be ready within a second; a busy machine gets two more.
const READY: Duration = Duration::from_secs(3);

#[test]
fn whatever_was_acknowledged_survives_the_plug_being_pulled() {
    let rounds: usize = setting("CRASH_ROUNDS").unwrap_or(20);
    let seed = setting("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let dir = tempfile::tempdir().unwrap();

    let service = Service::start_in(dir.path(), &[]);
    let mut workers: Vec<Worker> =
        (0..WORKERS).map(|n| Worker::new(service.newcomer(&format!("worker{n}")), rng.u64(..))).collect();
    service.kill();

    let mut acknowledged = 0;
    for round in 1..=rounds {
        let service = restart(dir.path(), &format!("round {round}"));
        Recovery::of_one(service.base()).verify(&mut workers);
        acknowledged += write_until_killed(service, &mut workers, rng.usize(..80));
    }
    let service = restart(dir.path(), "the end");
    let photos = Recovery::of_one(service.base()).verify(&mut workers);
    println!("{acknowledged} acknowledged writes, {photos} photos left");
    assert!(acknowledged > rounds, "hardly anything was written: {acknowledged}");
    assert_swept(dir.path(), photos);
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let raw = std::env::var(name).ok()?;
    Some(raw.parse().unwrap_or_else(|_| panic!("{name} is not a number: {raw}")))
}

fn restart(dir: &Path, what: &str) -> Service {
    let began = Instant::now();
    let service = Service::start_in(dir, &[]);
    eventually("the service is ready", Duration::from_secs(30), || {
        service.anyone().request("GET", "/readyz").try_send().ok().filter(|answer| answer.status == 200)
    });
    let took = began.elapsed();
    println!("{what}: ready after {} ms", took.as_millis());
    assert!(took < READY, "{what}: ready only after {took:?}");
    service
}

/// Everybody writes; after `enough` acknowledged writes the plug is pulled. Tells how many there were.
fn write_until_killed(service: Service, workers: &mut [Worker], enough: usize) -> usize {
    // What was there at the start may be liked by everyone, even while its author deletes it.
    let common: Vec<i64> = workers.iter().flat_map(Worker::living).collect();
    let (acknowledge, acknowledged) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in workers {
            let (acknowledge, common) = (acknowledge.clone(), &common);
            worker.person = worker.person.moved_to(service.base());
            scope.spawn(move || write_until_dead(worker, common, &acknowledge));
        }
        drop(acknowledge);
        let count = acknowledged.iter().take(enough).count();
        service.kill();
        count + acknowledged.iter().count()
    })
}

/// Writes one thing after another and reports each acknowledgement, until there is none.
fn write_until_dead(worker: &mut Worker, common: &[i64], acknowledge: &mpsc::Sender<()>) {
    loop {
        match worker.write(common) {
            Ok(_) => {
                // Nobody counts any more once the plug is pulled; then the next request fails.
                acknowledge.send(()).ok();
            }
            Err(Unanswered::Dead(_)) => return,
            Err(refused) => panic!("{refused:?}"),
        }
    }
}

/// Nothing lies about: a folder for each photo that lives, and no half-written file.
fn assert_swept(data: &Path, photos: usize) {
    let entries = |path: &Path| match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    let count = || entries(&data.join("photos")).iter().map(|shelf| entries(shelf).len()).sum::<usize>();
    let deadline = Instant::now() + Duration::from_secs(10);
    eventually("leftovers are collected", Duration::from_secs(11), || {
        let (folders, unfinished) = (count(), entries(&data.join("tmp")));
        if folders == photos && unfinished.is_empty() {
            return Some(());
        }
        let late = Instant::now() > deadline;
        assert!(!late, "{folders} folders for {photos} photos; unfinished: {unfinished:?}");
        None
    });
}
