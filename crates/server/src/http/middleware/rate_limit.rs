//! Rate limits for each client network: requests, failed logins, and created accounts; of failed logins also
//! for each username. Failed logins of an account count on all nodes, everything else on one.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use app::{LoginAttempt, LoginOutcome, client_network};
use model::Clock;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::http::middleware::limiter::{Debit, Limiter, RateLimited};

/// The most pairs of an account and a network that are remembered; beyond it, old ones are evicted.
const MAX_KNOWN_NETWORKS: usize = 100_000;

pub(crate) struct RateLimits {
    /// Failed logins by username and network, and the wider limits by one of the two.
    logins: Limiter,
    logins_per_name: Limiter,
    logins_per_address: Limiter,
    /// The networks from which a username has logged in. The wider limits do not apply to them, so that
    /// guesses from elsewhere cannot lock the owner of an account out.
    known_networks: Cache<LoginKey, ()>,
    /// Wrong passwords of users who have a session, by username. Guesses of others do not count: they must
    /// not keep the owner from changing the password.
    confirmations: Limiter,
    joins: Limiter,
    requests: Limiter,
    is_enabled: bool,
    /// A random number, by which this node knows the attempts that it has counted.
    node: u64,
}

/// Whose login, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct LoginKey {
    /// The SHA-256 of the username in lower case.
    name: [u8; 32],
    network: IpAddr,
}

impl LoginKey {
    fn new(username: &str, client: IpAddr) -> Self {
        let name = Sha256::digest(username.to_ascii_lowercase()).into();
        Self { name, network: client_network(client) }
    }
}

impl RateLimits {
    pub(crate) fn new(config: &Config) -> Self {
        let logins = |policy, burst: u32| Limiter::new(policy, burst, config.login_window / burst.max(1));
        let per_request = Duration::from_secs(1) / config.request_rate.max(1);
        Self {
            logins: logins("login", config.login_failures),
            logins_per_name: logins("login-name", config.name_failures),
            logins_per_address: logins("login-address", config.address_failures),
            confirmations: logins("confirmation", config.login_failures),
            known_networks: Cache::new(MAX_KNOWN_NETWORKS),
            joins: Limiter::new("join", config.join_burst, config.join_interval),
            requests: Limiter::new("requests", config.request_burst, per_request),
            is_enabled: config.rate_limits,
            node: RandomState::new().hash_one("node"),
        }
    }

    /// Counts a request.
    pub(crate) fn request(&self, client: IpAddr, clock: &Clock) -> Result<(), RateLimited> {
        if !self.is_enabled {
            return Ok(());
        }
        self.requests.take(client_network(client), clock.now()).map(drop)
    }

    /// Counts the creation of an account in advance.
    pub(crate) fn join<'a>(&'a self, client: IpAddr, clock: &'a Clock) -> Result<Attempt<'a>, RateLimited> {
        let mut attempt = Attempt::new(clock);
        if self.is_enabled {
            attempt.take(&self.joins, client_network(client))?;
        }
        Ok(attempt)
    }

    /// Counts a login of this username and client as failed, in advance.
    pub(crate) fn login<'a>(
        &'a self,
        username: &str,
        client: IpAddr,
        clock: &'a Clock,
    ) -> Result<Attempt<'a>, RateLimited> {
        let mut attempt = Attempt::new(clock);
        if !self.is_enabled {
            return Ok(attempt);
        }
        let key = LoginKey::new(username, client);
        let is_known = self.known_networks.get(&key).is_some();
        if !is_known {
            attempt.take(&self.logins_per_address, key.network)?;
            attempt.take(&self.logins_per_name, key.name)?;
        }
        attempt.take(&self.logins, key)?;
        let failed = if is_known { LoginOutcome::FailedFromKnownNetwork } else { LoginOutcome::Failed };
        attempt.failed_login = Some(self.publication(key, failed));
        Ok(attempt)
    }

    /// Counts a wrong password of a user who has a session, in advance.
    pub(crate) fn confirmation<'a>(
        &'a self,
        username: &str,
        client: IpAddr,
        clock: &'a Clock,
    ) -> Result<Attempt<'a>, RateLimited> {
        let mut attempt = Attempt::new(clock);
        if self.is_enabled {
            let key = LoginKey::new(username, client);
            attempt.take(&self.confirmations, key.name)?;
            attempt.failed_login = Some(self.publication(key, LoginOutcome::FailedConfirmation));
        }
        Ok(attempt)
    }

    /// Remembers that this username has logged in from this client's network. Returns what the other nodes
    /// must be told.
    pub(crate) fn remember_network(&self, username: &str, client: IpAddr) -> Option<LoginAttempt> {
        let key = LoginKey::new(username, client);
        self.known_networks.insert(key, ());
        self.is_enabled.then(|| self.publication(key, LoginOutcome::Succeeded))
    }

    fn publication(&self, key: LoginKey, outcome: LoginOutcome) -> LoginAttempt {
        LoginAttempt { node: self.node, name: key.name, network: key.network, outcome }
    }

    /// Counts a login attempt on another node.
    pub(crate) fn apply(&self, attempt: LoginAttempt, clock: &Clock) {
        let LoginAttempt { node, name, network, outcome } = attempt;
        if node == self.node {
            return;
        }
        let key = LoginKey { name, network };
        // An exceeded limit stays exceeded.
        match outcome {
            LoginOutcome::Succeeded => self.known_networks.insert(key, ()),
            LoginOutcome::FailedConfirmation => drop(self.confirmations.take(name, clock.now())),
            LoginOutcome::FailedFromKnownNetwork => drop(self.logins.take(key, clock.now())),
            LoginOutcome::Failed => {
                drop(self.logins.take(key, clock.now()));
                drop(self.logins_per_name.take(name, clock.now()));
            }
        }
    }
}

/// What an attempt took from its limits in advance. Dropping it gives that back, so that an early return, a
/// busy service or a cancelled request costs nothing; `count` keeps it.
pub(crate) struct Attempt<'a> {
    clock: &'a Clock,
    taken: Vec<(&'a Limiter, Debit)>,
    /// What the other nodes must be told if this is a failed login.
    failed_login: Option<LoginAttempt>,
}

impl<'a> Attempt<'a> {
    fn new(clock: &'a Clock) -> Self {
        Self { clock, taken: Vec::new(), failed_login: None }
    }

    fn take(&mut self, limiter: &'a Limiter, key: impl Hash) -> Result<(), RateLimited> {
        self.taken.push((limiter, limiter.take(key, self.clock.now())?));
        Ok(())
    }

    /// Returns what the other nodes must be told.
    pub(crate) fn count(mut self) -> Option<LoginAttempt> {
        self.taken.clear();
        self.failed_login
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        for (limiter, taken) in self.taken.drain(..) {
            limiter.refund(taken, self.clock.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

    const OWNER: [u8; 4] = [192, 0, 2, 1];
    const OTHER: [u8; 4] = [198, 51, 100, 1];

    fn rate_limits(settings: &[(&str, &str)]) -> RateLimits {
        let mut flags = Flags::default();
        flags.values.extend(settings.iter().map(|(key, value)| ((*key).into(), (*value).into())));
        RateLimits::new(
            &Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config,
        )
    }

    #[test]
    fn an_attempt_that_is_dropped_does_not_count() {
        let (limits, clock) = (rate_limits(&[("login_failures", "1"), ("join_burst", "1")]), Clock::system());
        for _ in 0..3 {
            drop(limits.login("ada", OWNER.into(), &clock).unwrap());
            drop(limits.join(OWNER.into(), &clock).unwrap());
        }
        let pending = limits.login("ada", OWNER.into(), &clock).unwrap();
        assert!(limits.login("ada", OWNER.into(), &clock).is_err(), "an attempt in progress counts");
        pending.count();
        assert!(limits.login("ada", OWNER.into(), &clock).is_err(), "a counted attempt still counts");
    }

    #[test]
    fn a_rejected_attempt_takes_nothing_from_the_other_limits() {
        let settings = [("login_failures", "1"), ("name_failures", "9"), ("address_failures", "2")];
        let (limits, clock) = (rate_limits(&settings), Clock::system());
        limits.login("ada", OWNER.into(), &clock).unwrap().count();
        for _ in 0..3 {
            assert!(limits.login("ada", OWNER.into(), &clock).is_err(), "the limit of the pair");
        }
        limits.login("bob", OWNER.into(), &clock).unwrap().count();
        assert!(limits.login("eve", OWNER.into(), &clock).is_err(), "the limit of the address");
    }

    #[test]
    fn guesses_from_elsewhere_leave_a_known_network_its_own_allowance() {
        let settings = [("login_failures", "2"), ("name_failures", "3"), ("address_failures", "3")];
        let (limits, clock) = (rate_limits(&settings), Clock::system());
        limits.remember_network("Ada", OWNER.into());
        for last in 1..=3 {
            limits.login("ada", [198, 51, 100, last].into(), &clock).unwrap().count();
        }
        assert!(limits.login("ada", [198, 51, 100, 4].into(), &clock).is_err(), "the limit of the name");
        for _ in 0..2 {
            limits.login("ADA", OWNER.into(), &clock).unwrap().count();
        }
        assert!(limits.login("ada", OWNER.into(), &clock).is_err(), "a known network is limited too");
        limits.login("bob", OTHER.into(), &clock).unwrap();
    }

    #[test]
    fn concurrent_attempts_never_exceed_the_limit() {
        let (limits, clock) =
            (rate_limits(&[("login_failures", "8"), ("login_window", "1d")]), Clock::system());
        let counted = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (limits, clock, counted) = (&limits, &clock, &counted);
                scope.spawn(move || {
                    for round in 0..500 {
                        let Ok(attempt) = limits.login("ada", OWNER.into(), clock) else { continue };
                        if (round + thread) % 3 == 0 {
                            attempt.count();
                            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(counted.into_inner(), 8);
        assert!(limits.login("ada", OWNER.into(), &clock).is_err());
    }
}
