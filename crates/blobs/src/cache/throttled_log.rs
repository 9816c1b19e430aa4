//! Limits the log of cache errors: a failing disk fails every request.

use std::time::{Duration, Instant};

use model::Clock;
use parking_lot::Mutex;

use crate::Error;

/// At most one message per interval; the others are counted.
const INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct ThrottledLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_logged: Option<Instant>,
    suppressed: u64,
}

impl ThrottledLog {
    pub(super) fn warn(&self, error: &Error) {
        let mut state = self.0.lock();
        if state.last_logged.is_some_and(|last| last.elapsed() < INTERVAL) {
            state.suppressed += 1;
            return;
        }
        let suppressed = std::mem::take(&mut state.suppressed);
        state.last_logged = Some(Clock::monotonic());
        drop(state);
        tracing::warn!(%error, suppressed, "image cache error; images are rendered instead");
    }
}
