//! Connects to a PostgreSQL server: encryption, session settings, timeouts, failover between servers, and
//! reconnecting with backoff.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::error_chain;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

use super::authentication::{AuthGuard, AuthMethod, Verdict};
use super::connect_error::ConnectError;
use super::endpoint::Address;
use super::ssl_mode::Encryption;
use super::tls::{self, Tls};
use super::tx::PostgresTx;
use super::url::{DatabaseUrl, Server};
use crate::error::{Error, OpenError};

/// For one statement of a short read or a write. The slowest, a sweep of expired rows, takes a second.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(4);

/// For one server: to resolve its name, connect, authenticate and apply `SETTINGS`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A restart of the server or a failover usually takes less than this: requests wait that long instead of
/// failing.
pub(super) const RECONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The delay between two attempts to connect, doubled after each.
const MIN_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The session settings of every connection.
///
/// * `lock_timeout` covers the batches of many nodes one after another; `idle_in_transaction_session_timeout`
///   frees the locks of a node that hangs.
/// * No parallel workers and no JIT: with a `LIMIT` parameter the planner expects a tenth of the table and
///   would use them for a page of posts, which takes 30 ms instead of 1 ms.
/// * Generic plans: with a `LIMIT` parameter they look more expensive than they are, so the server would plan
///   a page again for every request, which takes longer than to read it. A test plans every statement like
///   this.
/// * `synchronous_commit = off` would lose acknowledged writes.
const SETTINGS: &str = "SET lock_timeout = '3s';
    SET idle_in_transaction_session_timeout = '5s';
    SET max_parallel_workers_per_gather = 0;
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";

pub(super) struct Connector {
    /// The servers of the URL, each with its TLS configuration.
    servers: Vec<(Server, Tls)>,
    /// The index of the server that was connected to last.
    preferred: AtomicUsize,
    config: Config,
    require_auth: Vec<AuthMethod>,
    statement_timeout: Duration,
}

/// The servers that a connector accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerRole {
    /// Only the server that accepts writes, which changes with a failover.
    Primary,
    /// Any server, standbys included.
    Any,
}

impl Connector {
    pub(super) fn new(
        url: &DatabaseUrl,
        role: ServerRole,
        statement_timeout: Duration,
    ) -> Result<Arc<Self>, OpenError> {
        let mut config = Config::clone(&url.config);
        if config.get_application_name().is_none() {
            config.application_name("pinhole");
        }
        if role == ServerRole::Primary {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let with_tls = |server: &Server| Ok((server.clone(), Tls::new(&server.ssl_mode)?));
        let servers = url.servers.iter().map(with_tls).collect::<Result<_, _>>();
        Ok(Arc::new(Self {
            servers: servers.map_err(|cause| OpenError::Server { database: url.to_string(), cause })?,
            preferred: AtomicUsize::new(0),
            config,
            require_auth: url.require_auth.clone(),
            statement_timeout,
        }))
    }

    /// Tries each server once, the preferred one first.
    pub(super) async fn connect(&self) -> Result<PostgresTx, Error> {
        let mut reasons = Vec::new();
        let preferred = self.preferred.load(Ordering::Relaxed);
        for at in (preferred..self.servers.len()).chain(0..preferred) {
            let (server, tls) = &self.servers[at];
            match timeout(CONNECT_TIMEOUT, self.connect_to(server, tls, &mut reasons)).await {
                Ok(Some(tx)) => {
                    self.preferred.store(at, Ordering::Relaxed);
                    return Ok(tx);
                }
                Ok(None) => {}
                Err(_) => reasons.push(format!("{}: connection timed out", server.endpoint)),
            }
        }
        Err(Error::Unavailable(reasons.join("; ").into()))
    }

    /// Tries each address of the server's name, because a name may stand for a primary and its standbys.
    async fn connect_to(&self, server: &Server, tls: &Tls, reasons: &mut Vec<String>) -> Option<PostgresTx> {
        let addresses = match server.endpoint.resolve().await {
            Ok(addresses) => addresses,
            Err(error) => {
                reasons.push(format!("{}: {error}", server.endpoint));
                return None;
            }
        };
        for address in addresses {
            let (encryption, fallback) = server.ssl_mode.encryption();
            let outcome = match (self.open(server, tls, &address, encryption).await, fallback) {
                (Err(error), Some(fallback)) if error.depends_on_encryption() => {
                    tracing::debug!(%address, %error, ?fallback, "connection retried with other encryption");
                    self.open(server, tls, &address, fallback).await
                }
                (outcome, _) => outcome,
            };
            match outcome {
                Ok(tx) => return Some(tx),
                // A wrong password too: it may be corrected while the service runs.
                Err(error) => reasons.push(format!("{address}: {error}")),
            }
        }
        None
    }

    async fn open(
        &self,
        server: &Server,
        tls: &Tls,
        address: &Address,
        encryption: Encryption,
    ) -> Result<PostgresTx, ConnectError> {
        let mut socket = address.connect().await.map_err(ConnectError::Socket)?;
        let offered = match encryption {
            Encryption::Never => false,
            _ => tls::is_offered(&mut *socket).await.map_err(ConnectError::Tls)?,
        };
        let transport = match (offered, encryption) {
            (true, _) => tls.handshake(socket, server.endpoint.name()).await.map_err(ConnectError::Tls)?,
            (false, Encryption::Required) => return Err(ConnectError::TlsNotOffered),
            (false, _) => socket,
        };
        let verdict = Verdict::default();
        let guard = AuthGuard::new(transport, self.require_auth.clone(), verdict.clone());
        // The transport is encrypted already, or is not to be.
        let connected = self.config.connect_raw(guard, NoTls).await;
        let (client, connection) = connected.map_err(|error| match verdict.get() {
            None => ConnectError::Rejected(error),
            Some(Err(refusal)) => ConnectError::Refused(*refusal),
            Some(Ok(())) => ConnectError::Postgres(error),
        })?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::info!(error = error_chain(&error), "database connection closed");
            }
        });
        // From here on, dropping `tx` aborts the task.
        let mut tx = PostgresTx::new(client, task.abort_handle());
        let timeout = self.statement_timeout.as_millis();
        let settings = format!("{SETTINGS} SET statement_timeout = {timeout}; SHOW transaction_read_only");
        let results = tx.client().simple_query(&settings).await.map_err(ConnectError::Postgres)?;
        let last_row = results.iter().rev().find_map(|result| match result {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        match (self.config.get_target_session_attrs(), last_row == Some("on")) {
            (TargetSessionAttrs::ReadWrite, true) => Err(ConnectError::ReadOnly),
            (TargetSessionAttrs::ReadOnly, false) => Err(ConnectError::ReadWrite),
            _ => Ok(tx),
        }
    }
}

/// Connects with exponential backoff.
pub(super) struct Reconnector {
    connector: Arc<Connector>,
    timeout: Duration,
    /// Set once no server was reachable for `timeout`: the time and error of the last attempt. From then on
    /// one failed attempt fails all requests that arrived before it ended.
    unreachable: Option<(Instant, Error)>,
    backoff: Duration,
    not_before: Instant,
}

impl Reconnector {
    /// A request waits up to `timeout` for a server that has become unreachable.
    pub(super) fn new(connector: Arc<Connector>, timeout: Duration) -> Self {
        Self { connector, timeout, unreachable: None, backoff: MIN_BACKOFF, not_before: Instant::now() }
    }

    /// Connects for a request that arrived at `requested`.
    pub(super) async fn connect(&mut self, requested: Instant) -> Result<PostgresTx, Error> {
        if let Some((tried, error)) = &self.unreachable
            && *tried >= requested
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
            if was_unreachable || now - requested >= self.timeout {
                if !was_unreachable {
                    tracing::error!(%error, "database unreachable; requests that need it fail until it is back");
                }
                self.unreachable = Some((now, error.clone()));
                return Err(error);
            }
        }
    }
}
