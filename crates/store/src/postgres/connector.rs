//! Connects to a PostgreSQL server: how a connection is made, its settings, and how often it is tried while
//! the server is unreachable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::error_chain;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_postgres::Config;
use tokio_postgres::config::TargetSessionAttrs;

use super::error::connect_error;
use super::tls::Tls;
use super::tx::PostgresTx;
use super::url::DatabaseUrl;
use crate::error::{Error, OpenError};

/// For one statement as a rule. The longest of them, a sweep of what has expired, takes a second.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// To resolve the name of one server, connect, authenticate and apply the settings below.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection whose other end has gone silent is closed after about this long.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// A server that restarts, or a standby that takes over, is usually back within this time: requests wait for
/// it rather than fail.
pub(super) const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Between two attempts to connect.
const MIN_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The settings of every connection.
///
/// * No lock is waited for longer than the batches of many nodes would take one after another, and a node
///   that freezes in a transaction loses its locks.
/// * Plans are for pages of posts. A limit that is bound later makes the planner expect a tenth of the table,
///   for which it would start more workers or compile the query: 30 ms instead of one.
/// * A server that does not wait for its disk would lose acknowledged writes.
const SETTINGS: &str = "SET lock_timeout = '5s';
    SET idle_in_transaction_session_timeout = '10s';
    SET max_parallel_workers_per_gather = 0;
    SET jit = off;
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";

pub(super) struct Connector {
    /// One for each server that may be the right one.
    configs: Vec<Config>,
    /// The one that was connected to last.
    preferred: AtomicUsize,
    tls: Tls,
    statement_timeout: Duration,
}

/// What a connection is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Only with a server that accepts writes: after a failover that is another one.
    Write,
    /// With any server that answers.
    Read,
}

impl Connector {
    pub(super) fn new(
        url: &DatabaseUrl,
        purpose: Purpose,
        statement_timeout: Duration,
    ) -> Result<Arc<Self>, OpenError> {
        let mut configs = url.configs.clone();
        for config in &mut configs {
            config
                .connect_timeout(CONNECT_TIMEOUT)
                .tcp_user_timeout(KEEPALIVE)
                .keepalives(true)
                .keepalives_idle(KEEPALIVE / 2)
                .keepalives_interval(KEEPALIVE / 8)
                .keepalives_retries(4);
            if config.get_application_name().is_none() {
                config.application_name("pinhole");
            }
            if purpose == Purpose::Write {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
        }
        let tls =
            Tls::new(&url.trust).map_err(|cause| OpenError::Server { place: url.to_string(), cause })?;
        Ok(Arc::new(Self { configs, preferred: AtomicUsize::new(0), tls, statement_timeout }))
    }

    /// Tries each server once, the preferred one first.
    pub(super) async fn connect(&self) -> Result<PostgresTx, Error> {
        let mut reasons = Vec::new();
        let preferred = self.preferred.load(Ordering::Relaxed);
        for at in (preferred..self.configs.len()).chain(0..preferred) {
            match timeout(CONNECT_TIMEOUT, self.open(&self.configs[at])).await {
                Ok(Ok(tx)) => {
                    self.preferred.store(at, Ordering::Relaxed);
                    return Ok(tx);
                }
                // Even a wrong password: it may be corrected while the service runs.
                Ok(Err(error)) => reasons.push(connect_error(&error)),
                Err(_) => reasons.push("no answer in time".into()),
            }
        }
        Err(Error::Unavailable(reasons.join("; ").into()))
    }

    async fn open(&self, config: &Config) -> Result<PostgresTx, tokio_postgres::Error> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::info!(error = error_chain(&error), "database connection closed");
            }
        });
        // From here on the task ends with the connection.
        let mut tx = PostgresTx::new(client, task.abort_handle());
        let timeout = self.statement_timeout.as_millis();
        tx.client().batch_execute(&format!("{SETTINGS} SET statement_timeout = {timeout};")).await?;
        Ok(tx)
    }
}

/// Connects with backoff, so that an unreachable server is not flooded with attempts.
pub(super) struct Reconnector {
    connector: Arc<Connector>,
    timeout: Duration,
    /// No server was reachable for longer than the timeout: when that was tried last, and why it failed. From
    /// now on one attempt answers all requests that came before it ended.
    unreachable: Option<(Instant, Error)>,
    backoff: Duration,
    not_before: Instant,
}

impl Reconnector {
    /// A request waits for `timeout` when the server becomes unreachable.
    pub(super) fn new(connector: Arc<Connector>, timeout: Duration) -> Self {
        Self { connector, timeout, unreachable: None, backoff: MIN_BACKOFF, not_before: Instant::now() }
    }

    /// For a request that has wanted a connection since `asked`.
    pub(super) async fn connect(&mut self, asked: Instant) -> Result<PostgresTx, Error> {
        if let Some((tried, error)) = &self.unreachable
            && *tried >= asked
        {
            return Err(error.clone());
        }
        loop {
            sleep_until(self.not_before).await;
            let error = match self.connector.connect().await {
                Ok(tx) => {
                    if self.unreachable.take().is_some() {
                        tracing::info!("database reachable again");
                    }
                    self.backoff = MIN_BACKOFF;
                    return Ok(tx);
                }
                Err(error) => error,
            };
            let now = Instant::now();
            self.not_before = now + self.backoff;
            self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
            let was_unreachable = self.unreachable.is_some();
            if was_unreachable || now - asked >= self.timeout {
                if !was_unreachable {
                    tracing::error!(%error, "database unreachable; requests that need it fail until it is back");
                }
                self.unreachable = Some((now, error.clone()));
                return Err(error);
            }
        }
    }
}
