//! The service is killed repeatedly under write load; every acknowledged write must survive.
//!
//! `CRASH_ROUNDS` (20) is the number of kills, `CRASH_SEED` repeats the random choices of an earlier run.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use e2e::oracle::{UnknownOutcome, Worker, verify};
use e2e::{Service, eventually};

/// Enough to queue behind each other; few, because each join costs a password hash.
const WORKERS: usize = 4;
/// The service should be ready within a second; two more are for a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(3);

#[test]
fn acknowledged_writes_survive_kill_9() {
    let rounds: usize = setting("CRASH_ROUNDS").unwrap_or(20);
    let seed = setting("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let dir = tempfile::tempdir().unwrap();

    let service = Service::start_in(dir.path(), &[]);
    let mut workers: Vec<Worker> =
        (0..WORKERS).map(|n| Worker::new(service.new_user(&format!("worker{n}")), rng.u64(..))).collect();
    service.kill();

    let mut acknowledged = 0;
    for round in 1..=rounds {
        let service = restart(dir.path(), &format!("round {round}"));
        verify(service.base(), &mut workers);
        acknowledged += write_until_killed(service, &mut workers, rng.usize(..80));
    }
    let service = restart(dir.path(), "the end");
    let photos = verify(service.base(), &mut workers);
    println!("{acknowledged} acknowledged writes, {photos} photos exist");
    assert!(acknowledged > rounds, "too few acknowledged writes: {acknowledged}");
    assert_no_orphans(dir.path(), photos);
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let raw = std::env::var(name).ok()?;
    Some(raw.parse().unwrap_or_else(|_| panic!("{name} is not a number: {raw}")))
}

fn restart(dir: &Path, round: &str) -> Service {
    let began = Instant::now();
    let service = Service::start_in(dir, &[]);
    eventually("the service is ready", Duration::from_secs(30), || {
        service
            .anonymous()
            .request("GET", "/readyz")
            .try_send()
            .ok()
            .filter(|response| response.status == 200)
    });
    let took = began.elapsed();
    println!("{round}: ready after {} ms", took.as_millis());
    assert!(took < READY_WITHIN, "{round}: ready only after {took:?}");
    service
}

/// All workers write; after `enough` acknowledged writes the service is killed. Returns the number
/// acknowledged.
fn write_until_killed(service: Service, workers: &mut [Worker], enough: usize) -> usize {
    // Every worker may like the posts that exist at the start, even while their authors delete them.
    let shared: Vec<i64> = workers.iter().flat_map(Worker::writable_posts).collect();
    let (acknowledge, acknowledged) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in workers {
            let (acknowledge, shared) = (acknowledge.clone(), &shared);
            worker.client = worker.client.with_base(service.base());
            scope.spawn(move || write_until_disconnected(worker, shared, &acknowledge));
        }
        drop(acknowledge);
        let count = acknowledged.iter().take(enough).count();
        service.kill();
        count + acknowledged.iter().count()
    })
}

/// Sends write after write and reports each acknowledgement, until the connection fails.
fn write_until_disconnected(worker: &mut Worker, shared: &[i64], acknowledge: &mpsc::Sender<()>) {
    loop {
        match worker.write(shared) {
            Ok(_) => {
                // The receiver is dropped after the kill; then the next request fails.
                acknowledge.send(()).ok();
            }
            Err(UnknownOutcome::ConnectionLost(_)) => return,
            Err(outcome) => panic!("{outcome:?}"),
        }
    }
}

/// Asserts one folder per existing photo, and no temporary file.
fn assert_no_orphans(data_dir: &Path, photos: usize) {
    let entries = |path: &Path| match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    let count = || entries(&data_dir.join("photos")).iter().map(|shard| entries(shard).len()).sum::<usize>();
    let deadline = Instant::now() + Duration::from_secs(10);
    eventually("orphans are removed", Duration::from_secs(11), || {
        let (folders, unfinished) = (count(), entries(&data_dir.join("tmp")));
        if folders == photos && unfinished.is_empty() {
            return Some(());
        }
        let late = Instant::now() > deadline;
        assert!(!late, "{folders} folders for {photos} photos; unfinished: {unfinished:?}");
        None
    });
}
