//! Polling for a condition with a deadline instead of a fixed sleep.

use std::time::{Duration, Instant};

/// Calls `poll` every 20 ms until it returns `Some`. Panics with `what` after `timeout`.
#[track_caller]
pub fn eventually<T>(what: &str, timeout: Duration, mut poll: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(Instant::now() < deadline, "{what}: not within {timeout:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
