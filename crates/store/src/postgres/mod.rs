//! The PostgreSQL backend: several nodes write concurrently, and each may lose its connections at any moment.
//!
//! `batch_writer.rs` decides which writes are retried after a lost connection; `connector.rs` has the
//! timeouts; `read_barrier.rs` keeps the caches above exact.

mod authentication;
mod batch_writer;
mod connect_error;
mod connector;
#[cfg(test)]
mod connector_tests;
mod dedicated_connection;
mod endpoint;
mod error;
mod job;
mod likes;
mod pool;
mod read_barrier;
mod replica;
mod replication_lag;
pub(crate) mod row;
pub(crate) mod schema;
mod snapshot;
mod ssl_mode;
#[cfg(test)]
pub(crate) mod test_database;
mod tls;
pub(crate) mod tx;
mod url;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use replication_lag::{ReplicationLag, replica_lag};
pub use url::DatabaseUrl;

use crate::error::{Error, OpenError};
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::lock_key::LockKey;
use crate::read_barrier_stats::ReadBarrierStats;
use crate::revisions::Revisions;
use crate::work::{ErasedWork, ResultSlot};

use connector::{Connector, RECONNECT_TIMEOUT, STATEMENT_TIMEOUT, ServerRole};
use dedicated_connection::DedicatedConnector;
use job::JobWork;
use pool::{Pool, PoolLimits};
use read_barrier::ReadBarrier;
use replica::Replica;
use writer::Writer;

/// For the statement of a long read, which may count millions of posts.
const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Concurrent reads for each core of this node: while one waits for the network, another one is processed.
const READS_PER_CORE: usize = 2;

/// Connections of a read-only handle.
const READ_ONLY_CONNECTIONS: usize = 4;

const LONG_READS: PoolLimits = PoolLimits {
    connections: 1,
    max_queued: 32,
    queue_timeout: Duration::from_secs(60),
    reconnect_timeout: RECONNECT_TIMEOUT,
    read_timeout: Duration::from_secs(40),
};

pub(crate) struct Postgres {
    /// Absent when the database was opened read-only.
    writer: Option<Writer>,
    readers: Arc<Pool>,
    /// Absent when the database was opened read-only.
    barrier: Option<Arc<ReadBarrier>>,
    /// For long reads, so that they delay only each other.
    long_readers: Arc<Pool>,
    replica: Option<Replica>,
    dedicated: DedicatedConnector,
}

impl Postgres {
    pub(crate) async fn open(
        primary: &DatabaseUrl,
        replica: Option<&DatabaseUrl>,
        read_connections: usize,
        revisions: Arc<Revisions>,
    ) -> Result<Self, OpenError> {
        schema::upgrade(primary, Connector::new(primary, ServerRole::Primary, STATEMENT_TIMEOUT)?).await?;

        let limits = PoolLimits {
            connections: READS_PER_CORE * read_connections.max(1),
            // Bounded by the HTTP connections of this node, and by `queue_timeout`.
            max_queued: usize::MAX,
            queue_timeout: RECONNECT_TIMEOUT,
            reconnect_timeout: RECONNECT_TIMEOUT,
            read_timeout: STATEMENT_TIMEOUT + Duration::from_secs(1),
        };
        let connector = Connector::new(primary, ServerRole::Primary, STATEMENT_TIMEOUT)?;
        // Reads use the primary too: a standby may lag.
        let readers = Arc::new(Pool::new(connector.clone(), limits));
        let barrier = Arc::new(ReadBarrier::start(connector.clone(), readers.clone(), revisions));
        // From now on every change is published.
        let first = barrier.wait().await;
        first
            .map_err(|error| OpenError::Server { database: primary.to_string(), cause: error.to_string() })?;
        let replica = match replica {
            Some(url) => {
                let connector = Connector::new(url, ServerRole::Any, STATEMENT_TIMEOUT)?;
                // Reads fall back to the primary, so none waits for an unreachable replica.
                let pool = Pool::new(connector, PoolLimits { reconnect_timeout: Duration::ZERO, ..limits });
                Some(Replica::new(pool, readers.clone(), barrier.clone()))
            }
            None => None,
        };
        let writer = Some(Writer::start(&connector));
        Ok(Self { writer, replica, barrier: Some(barrier), ..Self::with(primary, readers)? })
    }

    /// Reads from the primary, because a standby may lag.
    pub(crate) async fn open_read_only(primary: &DatabaseUrl) -> Result<Self, OpenError> {
        schema::expect_current(primary, Connector::new(primary, ServerRole::Primary, STATEMENT_TIMEOUT)?)
            .await?;
        let connector = Connector::new(primary, ServerRole::Primary, STATEMENT_TIMEOUT)?;
        let limits = PoolLimits {
            connections: READ_ONLY_CONNECTIONS,
            queue_timeout: LONG_READS.read_timeout,
            ..LONG_READS
        };
        Self::with(primary, Arc::new(Pool::new(connector, limits)))
    }

    /// Without a writer, a read barrier and a replica.
    fn with(primary: &DatabaseUrl, readers: Arc<Pool>) -> Result<Self, OpenError> {
        let long = Connector::new(primary, ServerRole::Primary, LONG_STATEMENT_TIMEOUT)?;
        let dedicated =
            Connector::new(primary, ServerRole::Primary, dedicated_connection::STATEMENT_TIMEOUT)?;
        Ok(Self {
            writer: None,
            readers,
            barrier: None,
            long_readers: Arc::new(Pool::new(long, LONG_READS)),
            replica: None,
            dedicated: DedicatedConnector::new(dedicated),
        })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.writer.as_ref().map_or(0, Writer::queued)
    }

    pub(crate) fn rejected_writes(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::rejected)
    }

    pub(crate) fn read_barrier_stats(&self) -> Option<ReadBarrierStats> {
        Some(self.barrier.as_ref()?.stats())
    }

    /// When this returns, every change is published that any node committed before.
    pub(crate) async fn read_barrier(&self) -> Result<(), Error> {
        match &self.barrier {
            Some(barrier) => barrier.wait().await.map(drop),
            None => Ok(()),
        }
    }

    pub(crate) async fn write(&self, lock_key: LockKey, work: Box<dyn ErasedWork>) -> Result<(), Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?.run(lock_key, JobWork::Closure(work)).await
    }

    pub(crate) async fn write_like(&self, like: LikeWrite) -> Result<LikeOutcome, Error> {
        let (slot, outcome) = ResultSlot::pair();
        let writer = self.writer.as_ref().ok_or(Error::ReadOnly)?;
        writer.run(LockKey::Like(like.post, like.user), JobWork::Like(like, slot)).await?;
        outcome.take()
    }

    pub(crate) async fn read(&self, mut work: Box<dyn ErasedWork>) -> Result<(), Error> {
        match &self.replica {
            Some(replica) => replica.run(&mut *work).await,
            None => self.readers.run(&mut *work).await,
        }
    }

    pub(crate) async fn read_long(&self, work: Box<dyn ErasedWork>) -> Result<(), Error> {
        self.long_readers.run_detached(work).await
    }

    pub(crate) async fn snapshot(&self, mut work: Box<dyn ErasedWork>) -> Result<(), Error> {
        self.dedicated.snapshot(&mut *work).await
    }

    pub(crate) async fn write_once(&self, mut work: Box<dyn ErasedWork>) -> Result<(), Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?;
        self.dedicated.write(&mut *work).await
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}
