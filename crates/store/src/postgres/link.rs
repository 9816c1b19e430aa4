//! The way to a PostgreSQL server: how a connection is made, what is agreed on it, and how often one is tried for when
//! the server is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use tokio_postgres::Config;
use tokio_postgres::config::TargetSessionAttrs;

use super::error::{told, told_of_connecting};
use super::session::Session;
use super::tls::Tls;
use super::url::DatabaseUrl;
use crate::Error;

/// To find one server, shake hands, prove who we are and agree on the terms below.
const CONNECT_TIME: Duration = Duration::from_secs(3);

/// A connection whose other end has gone without a word is noticed after about this long.
const SILENCE: Duration = Duration::from_secs(20);

/// A server that restarts, or a standby that takes over, is back within this time when all is well: whoever comes
/// meanwhile is kept waiting rather than sent away.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Between two attempts to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What holds on every connection.
///
/// * No lock is waited for longer than the groups of many nodes would take one after another, and a node that freezes in
///   the middle of a transaction lets go of what it holds.
/// * Plans are for pages of posts. A limit that is bound later makes the planner expect a tenth of the table, for which
///   it would start more workers or compile the query: 30 ms instead of one.
/// * A server told not to wait for its disk would lose what we have acknowledged.
const TERMS: &str = "SET lock_timeout = '5s';
    SET idle_in_transaction_session_timeout = '10s';
    SET max_parallel_workers_per_gather = 0;
    SET jit = off;
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";

pub(super) struct Link {
    /// One for each server that may be the right one.
    configs: Vec<Config>,
    /// Which of them was the last time.
    usual: AtomicUsize,
    tls: Tls,
    /// How long one statement may run.
    statement_time: Duration,
}

/// For what a connection will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Only with a server that takes writes: after a failover that is another one.
    Write,
    /// With whichever answers.
    Read,
}

impl Link {
    pub(super) fn new(url: &DatabaseUrl, purpose: Purpose, statement_time: Duration) -> Result<Self, String> {
        let mut configs = url.configs.clone();
        for config in &mut configs {
            config
                .connect_timeout(CONNECT_TIME)
                .tcp_user_timeout(SILENCE)
                .keepalives(true)
                .keepalives_idle(SILENCE / 2)
                .keepalives_interval(SILENCE / 8)
                .keepalives_retries(4);
            if config.get_application_name().is_none() {
                config.application_name("pinhole");
            }
            if purpose == Purpose::Write {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
        }
        Ok(Self { configs, usual: AtomicUsize::new(0), tls: Tls::new(&url.trust)?, statement_time })
    }

    /// With the first that will do, beginning where it was the last time.
    pub(super) async fn connect(&self) -> Result<Session, Error> {
        let mut reasons = Vec::new();
        let usual = self.usual.load(Ordering::Relaxed);
        for at in (usual..self.configs.len()).chain(0..usual) {
            match timeout(CONNECT_TIME, self.open(&self.configs[at])).await {
                Ok(Ok(session)) => {
                    self.usual.store(at, Ordering::Relaxed);
                    return Ok(session);
                }
                // Whatever is wrong, a wrong password as well: it may be mended while we run.
                Ok(Err(error)) => reasons.push(told_of_connecting(&error)),
                Err(_) => reasons.push("no answer in time".into()),
            }
        }
        Err(Error::Unavailable(reasons.join("; ").into()))
    }

    async fn open(&self, config: &Config) -> Result<Session, tokio_postgres::Error> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let speaker = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::info!(error = told(&error), "a connection to the database has ended");
            }
        });
        // From here on it ends with the session.
        let mut session = Session::new(client, speaker.abort_handle());
        let terms = format!("{TERMS} SET statement_timeout = {};", self.statement_time.as_millis());
        session.client().batch_execute(&terms).await?;
        Ok(session)
    }
}

/// A link that remembers how it went, so that a server that is away is not run into without a pause.
pub(super) struct Reach {
    link: Arc<Link>,
    patience: Duration,
    /// Nobody could be reached for longer than we are patient, and when that was tried last: from now on one attempt is
    /// for all who ask before it ends.
    away: Option<(Instant, Error)>,
    pause: Duration,
    not_before: Instant,
}

impl Reach {
    /// Whoever asks is kept waiting for so long when the server goes away.
    pub(super) fn new(link: Arc<Link>, patience: Duration) -> Self {
        Self { link, patience, away: None, pause: FIRST_PAUSE, not_before: Instant::now() }
    }

    /// For somebody who has wanted a connection since `asked`.
    pub(super) async fn connect(&mut self, asked: Instant) -> Result<Session, Error> {
        if let Some((tried, error)) = &self.away
            && *tried >= asked
        {
            return Err(error.clone());
        }
        loop {
            sleep_until(self.not_before).await;
            let error = match self.link.connect().await {
                Ok(session) => {
                    if self.away.take().is_some() {
                        tracing::info!("a database is back");
                    }
                    self.pause = FIRST_PAUSE;
                    return Ok(session);
                }
                Err(error) => error,
            };
            let now = Instant::now();
            self.not_before = now + self.pause;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            let was_away = self.away.is_some();
            if was_away || now - asked >= self.patience {
                if !was_away {
                    tracing::error!(%error, "a database is away; what needs it is refused until it is back");
                }
                self.away = Some((now, error.clone()));
                return Err(error);
            }
        }
    }
}
