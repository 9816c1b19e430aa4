//! Waiting for what must come true, without guessing how long it takes.

use std::time::{Duration, Instant};

/// Asks again and again until the answer is `Some`; fails with `what` when the time is up.
#[track_caller]
pub fn eventually<T>(what: &str, within: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        // The pause between two questions, not the wait itself.
        std::thread::sleep(Duration::from_millis(20));
    }
}
