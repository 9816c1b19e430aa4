//! Where the time comes from: the machine, or a hand that turns it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

    /// A clock that shows the time of so long ago, until it is turned.
    pub fn behind(span: Duration) -> Self {
        let clock = Self::default();
        clock.ahead.store(-micros(span), Ordering::Relaxed);
        clock
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.ahead.load(Ordering::Relaxed)).plus(machine_time())
    }

    /// A monotonic reading for timeouts and measurements: real time, however far the clock was turned.
    #[allow(clippy::disallowed_methods, reason = "the clock is where time is read")]
    pub fn monotonic() -> Instant {
        Instant::now()
    }

    /// Lets time pass at once, for everybody who holds a clone: how a test lives through 90 days.
    pub fn turn(&self, span: Duration) {
        self.ahead.fetch_add(micros(span), Ordering::Relaxed);
    }

    /// Turns it until it shows `moment`; never back.
    pub fn turn_to(&self, moment: Timestamp) {
        let ahead = moment.minus(machine_time()).micros();
        self.ahead.fetch_max(ahead, Ordering::Relaxed);
    }

    /// From now on this clock, if it was behind, is as right as the machine's.
    pub fn catch_up(&self) {
        self.ahead.fetch_max(0, Ordering::Relaxed);
    }
}

#[allow(clippy::disallowed_methods, reason = "the clock is where time is read")]
fn machine_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
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

    #[test]
    fn a_clock_that_is_behind_catches_up_and_never_goes_back() {
        const HOUR: Duration = Duration::from_secs(3600);
        let (right, late) = (Clock::system(), Clock::behind(10 * HOUR));
        let lag = || (right.now().since(late.now()).as_secs_f64() / HOUR.as_secs_f64()).round();
        assert_eq!(lag(), 10.0);
        late.turn_to(right.now().minus(4 * HOUR));
        assert_eq!(lag(), 4.0);
        late.turn_to(right.now().minus(7 * HOUR));
        assert_eq!(lag(), 4.0);
        late.catch_up();
        assert_eq!(late.ahead.load(Ordering::Relaxed), 0);
    }
}
