//! The source of the current time, which tests and the demo can set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Timestamp;

#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// Microseconds this clock is ahead of the system clock; shared by all clones.
    ahead: Arc<AtomicI64>,
}

impl Clock {
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that is `span` behind the system clock.
    pub fn behind(span: Duration) -> Self {
        let clock = Self::default();
        clock.ahead.store(-micros(span), Ordering::Relaxed);
        clock
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.ahead.load(Ordering::Relaxed)).plus(system_time())
    }

    /// A monotonic reading for timeouts and measurements. It ignores the clock's offset.
    #[allow(clippy::disallowed_methods, reason = "the clock is where time is read")]
    pub fn monotonic() -> Instant {
        Instant::now()
    }

    /// Moves this clock and all its clones forward: a test of 90 days does not sleep.
    pub fn advance(&self, span: Duration) {
        self.ahead.fetch_add(micros(span), Ordering::Relaxed);
    }

    /// Moves the clock forward to `moment`, never back.
    pub fn advance_to(&self, moment: Timestamp) {
        let ahead = moment.minus(system_time()).micros();
        self.ahead.fetch_max(ahead, Ordering::Relaxed);
    }

    /// Moves a clock that is behind forward to the system clock.
    pub fn catch_up(&self) {
        self.ahead.fetch_max(0, Ordering::Relaxed);
    }
}

#[allow(clippy::disallowed_methods, reason = "the clock is where time is read")]
fn system_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advancing_a_clock_advances_its_clones() {
        let clock = Clock::system();
        let other = clock.clone();
        let before = other.now();
        clock.advance(Duration::from_secs(3600));
        assert!(other.now().since(before) >= Duration::from_secs(3600));
    }

    #[test]
    fn a_clock_that_is_behind_moves_forward_only() {
        const HOUR: Duration = Duration::from_secs(3600);
        let (system, behind) = (Clock::system(), Clock::behind(10 * HOUR));
        let lag = || (system.now().since(behind.now()).as_secs_f64() / HOUR.as_secs_f64()).round();
        assert_eq!(lag(), 10.0);
        behind.advance_to(system.now().minus(4 * HOUR));
        assert_eq!(lag(), 4.0);
        behind.advance_to(system.now().minus(7 * HOUR));
        assert_eq!(lag(), 4.0, "an earlier moment changes nothing");
        behind.catch_up();
        assert_eq!(behind.ahead.load(Ordering::Relaxed), 0);
    }
}
