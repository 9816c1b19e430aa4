//! Rate limits on what hurts: guessing passwords, making accounts, and sheer numbers from one address.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use model::Timestamp;

use crate::config::Config;

/// Keys remembered by one limit at most. A key whose allowance is full again is forgotten first.
const MAX_KEYS: usize = 100_000;

pub(crate) struct Limits {
    logins: Limiter,
    joins: Limiter,
    requests: Limiter,
    on: bool,
}

impl Limits {
    pub(crate) fn new(config: &Config) -> Self {
        let per_login = config.login_window / config.login_failures.max(1);
        let per_request = Duration::from_secs(1) / config.request_rate.max(1);
        Self {
            logins: Limiter::new("login", config.login_failures, per_login),
            joins: Limiter::new("join", config.join_burst, config.join_interval),
            requests: Limiter::new("requests", config.request_burst, per_request),
            on: config.rate_limits,
        }
    }

    pub(crate) fn request(&self, from: IpAddr, now: Timestamp) -> Result<(), Exceeded> {
        self.take(&self.requests, network(from), now).map(drop)
    }

    pub(crate) fn join(&self, from: IpAddr, now: Timestamp) -> Result<(), Exceeded> {
        self.take(&self.joins, network(from), now).map(drop)
    }

    /// Counts a login attempt. Whoever turns out to know the password gets it back by [`Attempt::forgive`].
    pub(crate) fn login(&self, name: &str, from: IpAddr, now: Timestamp) -> Result<Attempt<'_>, Exceeded> {
        let key = (name.to_ascii_lowercase(), network(from));
        let spent = self.take(&self.logins, key, now)?;
        Ok(Attempt { limiter: &self.logins, key: spent })
    }

    fn take(&self, limiter: &Limiter, key: impl Hash, now: Timestamp) -> Result<u64, Exceeded> {
        let key = limiter.keys.hash_one(key);
        if self.on {
            limiter.take(key, now)?;
        }
        Ok(key)
    }
}

/// A login attempt that counts as failed until forgiven.
pub(crate) struct Attempt<'a> {
    limiter: &'a Limiter,
    key: u64,
}

impl Attempt<'_> {
    pub(crate) fn forgive(self) {
        self.limiter.give_back(self.key);
    }
}

/// Too often: which policy said so, and when to come back.
#[derive(Debug)]
pub(crate) struct Exceeded {
    policy: &'static str,
    burst: u32,
    window: Duration,
    wait: Duration,
}

impl Exceeded {
    pub(crate) fn retry_after(&self) -> Duration {
        self.wait
    }

    /// The RateLimit fields, as structured fields.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let seconds = |span: Duration| span.as_secs_f64().ceil().max(1.0) as u64;
        let policy = format!("\"{}\";q={};w={}", self.policy, self.burst, seconds(self.window));
        let state = format!("\"{}\";r=0;t={}", self.policy, seconds(self.wait));
        [("ratelimit-policy", policy), ("ratelimit", state)].into_iter().filter_map(|(name, value)| {
            Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
        })
    }
}

/// An allowance of `burst` that refills by one every `interval` (the generic cell rate algorithm).
struct Limiter {
    policy: &'static str,
    burst: u32,
    interval: Duration,
    keys: RandomState,
    /// For each key the moment its allowance is full again.
    full_at: Mutex<HashMap<u64, Timestamp>>,
}

impl Limiter {
    fn new(policy: &'static str, burst: u32, interval: Duration) -> Self {
        Self { policy, burst, interval, keys: RandomState::new(), full_at: Mutex::default() }
    }

    fn take(&self, key: u64, now: Timestamp) -> Result<(), Exceeded> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() >= MAX_KEYS && !full_at.contains_key(&key) {
            full_at.retain(|_, moment| *moment > now);
            if full_at.len() >= MAX_KEYS {
                // So many addresses at once are no single offender's; start afresh rather than grow.
                full_at.clear();
            }
        }
        let window = self.interval * self.burst;
        let spent = full_at.get(&key).map_or(now, |moment| (*moment).max(now)).plus(self.interval);
        if spent.since(now) > window {
            let wait = spent.since(now) - window;
            return Err(Exceeded { policy: self.policy, burst: self.burst, window, wait });
        }
        full_at.insert(key, spent);
        Ok(())
    }

    fn give_back(&self, key: u64) {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(moment) = full_at.get_mut(&key) {
            *moment = moment.minus(self.interval);
        }
    }
}

/// What counts as one address: an IPv6 household usually owns a /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_a_burst_then_one_an_interval() {
        let limiter = Limiter::new("test", 3, Duration::from_secs(10));
        let start = Timestamp::from_micros(1_000_000_000);
        for _ in 0..3 {
            limiter.take(7, start).unwrap();
        }
        assert_eq!(limiter.take(7, start).unwrap_err().retry_after(), Duration::from_secs(10));
        limiter.take(8, start).unwrap();
        limiter.take(7, start.plus(Duration::from_secs(10))).unwrap();
        limiter.take(7, start.plus(Duration::from_secs(10))).unwrap_err();
        limiter.give_back(7);
        limiter.take(7, start.plus(Duration::from_secs(10))).unwrap();
        for _ in 0..3 {
            limiter.take(7, start.plus(Duration::from_secs(60))).unwrap();
        }
    }

    #[test]
    fn a_household_counts_once() {
        let same: [IpAddr; 2] = ["2001:db8::1".parse().unwrap(), "2001:db8::ffff:2".parse().unwrap()];
        assert_eq!(network(same[0]), network(same[1]));
        assert_ne!(network(same[0]), network("2001:db8:0:1::1".parse().unwrap()));
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), "10.0.0.1".parse::<IpAddr>().unwrap());
    }
}
