//! Rate limits on what hurts: guessing passwords, making accounts, and sheer numbers from one address.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use app::{Crowd, Inside};
use http::{HeaderName, HeaderValue};
use model::{Clock, Timestamp};
use parking_lot::Mutex;

use crate::config::Config;
use crate::connection::network;

/// Keys remembered by one limit at most. A key whose allowance is full again is forgotten first.
const MAX_KEYS: usize = 100_000;

pub(crate) struct RateLimits {
    logins: Limiter,
    joins: Limiter,
    requests: Limiter,
    on: bool,
    /// Hashing is dear, and its queue is everybody's: one address gets half of it at most.
    hashing: Arc<Crowd<IpAddr>>,
}

impl RateLimits {
    pub(crate) fn new(config: &Config) -> Self {
        let per_login = config.login_window / config.login_failures.max(1);
        let per_request = Duration::from_secs(1) / config.request_rate.max(1);
        Self {
            logins: Limiter::new("login", config.login_failures, per_login),
            joins: Limiter::new("join", config.join_burst, config.join_interval),
            requests: Limiter::new("requests", config.request_burst, per_request),
            on: config.rate_limits,
            hashing: Crowd::new(usize::MAX, (config.hash_threads + config.hash_queue).div_ceil(2)),
        }
    }

    /// Room for one more password of this address among those being hashed, held while it lasts.
    pub(crate) fn hashing(&self, from: IpAddr) -> Result<Inside<IpAddr>, app::Error> {
        self.hashing.enter(network(from)).ok_or(app::Error::Busy("hash"))
    }

    pub(crate) fn request(&self, from: IpAddr, clock: &Clock) -> Result<(), RateLimited> {
        if !self.on {
            return Ok(());
        }
        self.take(&self.requests, network(from), clock.now()).map(drop)
    }

    /// Counts an account about to be made, unless refunded because it was not.
    pub(crate) fn join(&self, from: IpAddr, now: Timestamp) -> Result<Attempt<'_>, RateLimited> {
        let spent = self.take(&self.joins, network(from), now)?;
        Ok(Attempt { limiter: &self.joins, key: spent })
    }

    /// Counts a wrong guess, unless refunded because it was right.
    pub(crate) fn login(&self, name: &str, from: IpAddr, now: Timestamp) -> Result<Attempt<'_>, RateLimited> {
        let key = (name.to_ascii_lowercase(), network(from));
        let spent = self.take(&self.logins, key, now)?;
        Ok(Attempt { limiter: &self.logins, key: spent })
    }

    fn take(&self, limiter: &Limiter, key: impl Hash, now: Timestamp) -> Result<u64, RateLimited> {
        let key = limiter.keys.hash_one(key);
        if self.on {
            limiter.take(key, now)?;
        }
        Ok(key)
    }
}

/// An attempt that counts until refunded.
pub(crate) struct Attempt<'a> {
    limiter: &'a Limiter,
    key: u64,
}

impl Attempt<'_> {
    pub(crate) fn refund(self) {
        self.limiter.refund(self.key);
    }
}

/// A limit is exceeded: which one, and when to retry.
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

    fn take(&self, key: u64, now: Timestamp) -> Result<(), RateLimited> {
        let mut full_at = self.full_at.lock();
        if full_at.len() >= MAX_KEYS && !full_at.contains_key(&key) {
            full_at.retain(|_, moment| *moment > now);
            if full_at.len() >= MAX_KEYS {
                // So many addresses at once are no single offender's; start afresh rather than grow.
                full_at.clear();
            }
        }
        let window = self.interval * self.burst;
        // Never further ahead than an empty allowance is: the machine's clock may have been set back.
        let latest = now.plus(window);
        let spent = full_at.get(&key).map_or(now, |moment| (*moment).clamp(now, latest)).plus(self.interval);
        if spent.since(now) > window {
            let wait = spent.since(now) - window;
            return Err(RateLimited { policy: self.policy, burst: self.burst, window, wait });
        }
        full_at.insert(key, spent);
        Ok(())
    }

    fn refund(&self, key: u64) {
        let mut full_at = self.full_at.lock();
        if let Some(moment) = full_at.get_mut(&key) {
            *moment = moment.minus(self.interval);
        }
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
        limiter.refund(7);
        limiter.take(7, start.plus(Duration::from_secs(10))).unwrap();
        for _ in 0..3 {
            limiter.take(7, start.plus(Duration::from_secs(60))).unwrap();
        }
        let set_back = start.minus(Duration::from_secs(3600));
        let wait = limiter.take(7, set_back).unwrap_err().retry_after();
        assert_eq!(wait, Duration::from_secs(10), "a clock that is set back locks nobody out");
    }
}
