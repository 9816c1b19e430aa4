//! A probe that reads the feed during an attack and measures how long it waits.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use e2e::Service;

/// Generous, for a small machine; but shorter than an attack that blocks other clients.
const MAX_LATENCY: Duration = Duration::from_secs(5);

/// Runs `attack` while a probe reads the feed from 127.0.0.2. Asserts that the probe is always served within
/// [`MAX_LATENCY`], and that the service is ready afterwards.
#[track_caller]
pub(crate) fn with_probe<T>(service: &Service, attack: impl FnOnce() -> T) -> T {
    let reader = service.anonymous().with_source_ip("127.0.0.2");
    let mut slowest = Duration::ZERO;
    let probe = |_| {
        let began = Instant::now();
        reader.get("/feed").expect(200);
        slowest = slowest.max(began.elapsed());
    };
    let outcome = beside(probe, attack);
    assert!(slowest < MAX_LATENCY, "the probe waited {slowest:?}");
    let ready = reader.get("/readyz");
    assert_eq!(ready.status, 200, "{ready}");
    outcome
}

/// Runs `attack`, and `request` beside it until it ends, again and again with a number.
pub(crate) fn beside<T>(mut request: impl FnMut(usize) + Send, attack: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel::<()>();
        let probe = scope.spawn(move || {
            for number in 0.. {
                request(number);
                if stopped.recv_timeout(Duration::from_millis(10)) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        let outcome = attack();
        drop(stop);
        probe.join().expect("the probe was always served");
        outcome
    })
}
