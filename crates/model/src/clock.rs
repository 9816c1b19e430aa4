//! Where the time comes from: the machine, or a hand that turns it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Timestamp;

#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Microseconds this clock is ahead of the machine's; shared by all clones.
    ahead: Arc<AtomicI64>,
}

impl Clock {
    pub fn system() -> Self {
        Self::default()
    }

    pub fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::from_micros(self.ahead.load(Ordering::Relaxed)).plus(since_epoch)
    }

    /// Lets time pass at once, for everybody who holds a clone: how a test lives through 90 days.
    pub fn turn(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        self.ahead.fetch_add(micros, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_moves_every_clone() {
        let clock = Clock::system();
        let twin = clock.clone();
        let before = twin.now();
        clock.turn(Duration::from_secs(3600));
        assert!(twin.now().since(before) >= Duration::from_secs(3600));
    }
}
