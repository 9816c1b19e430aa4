//! A rate limiter with refunds, and the error of an exceeded limit.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use model::Timestamp;
use parking_lot::Mutex;

/// The most keys that one limiter tracks. Keys whose allowance is full again are dropped first.
const MAX_KEYS: usize = 100_000;

/// The error of an exceeded rate limit: its policy, and the time until the next attempt is allowed.
#[derive(Debug)]
pub(crate) struct RateLimited {
    policy: &'static str,
    burst: u32,
    window: Duration,
    wait: Duration,
}

impl RateLimited {
    pub(crate) fn retry_after(&self) -> Duration {
        self.wait
    }

    /// The `RateLimit-Policy` and `RateLimit` headers, as structured fields (RFC 9651).
    pub(crate) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let seconds = |span: Duration| span.as_secs_f64().ceil().max(1.0) as u64;
        let policy = format!("\"{}\";q={};w={}", self.policy, self.burst, seconds(self.window));
        let remaining = format!("\"{}\";r=0;t={}", self.policy, seconds(self.wait));
        [("ratelimit-policy", policy), ("ratelimit", remaining)].into_iter().filter_map(|(name, value)| {
            Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
        })
    }
}

/// A rate limiter: for each key an allowance of `burst`, which refills by one every `interval`. The generic
/// cell rate algorithm (GCRA) stores one timestamp for each key.
pub(super) struct Limiter {
    policy: &'static str,
    burst: u32,
    interval: Duration,
    /// Keys are stored as hashes. The hasher is seeded randomly, so that clients cannot construct collisions.
    hasher: RandomState,
    /// For each key the time when its allowance is full again.
    full_at: Mutex<HashMap<u64, Timestamp>>,
}

/// What an attempt took from the allowance of a key.
pub(super) struct Debit {
    key: u64,
    /// The time when the allowance has refilled it.
    refilled_at: Timestamp,
}

impl Limiter {
    pub(super) fn new(policy: &'static str, burst: u32, interval: Duration) -> Self {
        Self { policy, burst, interval, hasher: RandomState::new(), full_at: Mutex::default() }
    }

    /// Takes one from the allowance of the key.
    pub(super) fn take(&self, key: impl Hash, now: Timestamp) -> Result<Debit, RateLimited> {
        let key = self.hasher.hash_one(key);
        let mut full_at = self.full_at.lock();
        if full_at.len() >= MAX_KEYS && !full_at.contains_key(&key) {
            full_at.retain(|_, time| *time > now);
            if full_at.len() >= MAX_KEYS {
                // So many active keys are a distributed load, which a limit for each client does not stop:
                // reset all of them rather than grow.
                full_at.clear();
            }
        }
        let window = self.interval * self.burst;
        // Clamped to the time of an empty allowance: if the system clock was set back, `full_at` is too far
        // ahead.
        let latest = now.plus(window);
        let after = full_at.get(&key).map_or(now, |time| (*time).clamp(now, latest)).plus(self.interval);
        if after.since(now) > window {
            let wait = after.since(now) - window;
            return Err(RateLimited { policy: self.policy, burst: self.burst, window, wait });
        }
        full_at.insert(key, after);
        Ok(Debit { key, refilled_at: after })
    }

    /// Gives back what `take` took, unless time has: that would be twice.
    pub(super) fn refund(&self, taken: Debit, now: Timestamp) {
        if taken.refilled_at <= now {
            return;
        }
        if let Some(time) = self.full_at.lock().get_mut(&taken.key) {
            *time = time.minus(self.interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limiter_allows_a_burst_and_then_one_per_interval() {
        let limiter = Limiter::new("test", 3, Duration::from_secs(10));
        let start = Timestamp::from_micros(1_000_000_000);
        for _ in 0..3 {
            limiter.take(7, start).unwrap();
        }
        assert_eq!(limiter.take(7, start).err().unwrap().retry_after(), Duration::from_secs(10));
        limiter.take(8, start).unwrap();
        let later = start.plus(Duration::from_secs(10));
        let taken = limiter.take(7, later).unwrap();
        assert!(limiter.take(7, later).is_err());
        limiter.refund(taken, later);
        limiter.take(7, later).unwrap();
        for _ in 0..3 {
            limiter.take(7, start.plus(Duration::from_secs(60))).unwrap();
        }
        let set_back = start.minus(Duration::from_secs(3600));
        let wait = limiter.take(7, set_back).err().unwrap().retry_after();
        assert_eq!(wait, Duration::from_secs(10), "a clock that is set back does not extend the wait");
    }
    #[test]
    fn a_refund_gives_back_nothing_that_time_has_given_back() {
        let limiter = Limiter::new("test", 1, Duration::from_secs(10));
        let start = Timestamp::from_micros(1_000_000_000);
        let slow = limiter.take(7, start).unwrap();
        let later = start.plus(Duration::from_secs(15));
        limiter.take(7, later).unwrap();
        limiter.refund(slow, later);
        assert!(limiter.take(7, later).is_err(), "the allowance of one is in use");
    }
}
