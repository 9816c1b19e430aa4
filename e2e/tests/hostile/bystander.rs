//! Somebody who only wants to read the feed, whatever happens around them.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use e2e::Service;

/// Generous: a bystander on a small machine may wait, but not for somebody else's attack to end.
const LONGEST: Duration = Duration::from_secs(5);

/// Acts while a bystander reads the feed from another address, over and over; afterwards the service lives.
#[track_caller]
pub(crate) fn beside<T>(service: &Service, act: impl FnOnce() -> T) -> T {
    let reader = service.anyone().at("127.0.0.2");
    let outcome = std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        let bystander = scope.spawn(move || {
            let mut slowest = Duration::ZERO;
            loop {
                let began = Instant::now();
                reader.get("/feed").expect(200);
                slowest = slowest.max(began.elapsed());
                if ended.recv_timeout(Duration::from_millis(10)) != Err(RecvTimeoutError::Timeout) {
                    return slowest;
                }
            }
        });
        let outcome = act();
        drop(end);
        let slowest = bystander.join().expect("the bystander was always served");
        assert!(slowest < LONGEST, "the bystander waited {slowest:?}");
        outcome
    });
    let alive = service.anyone().at("127.0.0.2").get("/readyz");
    assert_eq!(alive.status, 200, "{alive}");
    outcome
}
