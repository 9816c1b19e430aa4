//! The PostgreSQL backend: many nodes write to it at once, and each may lose it at any moment.
//!
//! `batch_writer.rs` says what is run again after a loss and what is not; `connector.rs` bounds every wait.
//! Nothing here is cached, so every read returns what was acknowledged before it, on whichever node.

mod batch_writer;
mod connector;
mod dedicated;
mod error;
mod job;
mod pool;
mod replica;
mod replication_lag;
pub(crate) mod row;
pub(crate) mod schema;
#[cfg(test)]
pub(crate) mod test_database;
mod tls;
pub(crate) mod tx;
mod url;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use replication_lag::{Lag, replica_lag};
pub use url::DatabaseUrl;

use crate::changes::Listener;
use crate::error::{Error, OpenError};
use crate::lock_key::LockKey;
use crate::work::ErasedWork;

use connector::{Connector, Purpose, RECONNECT_TIMEOUT, STATEMENT_TIMEOUT};
use dedicated::Dedicated;
use pool::{Pool, PoolLimits};
use replica::Replica;
use writer::Writer;

/// For a statement that counts through millions of posts.
const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads at once for each core of this node: while one waits for the network, another can be answered.
const READS_PER_CORE: usize = 2;

/// Connections of a read-only handle.
const READ_ONLY_CONNECTIONS: usize = 4;

const LONG_READS: PoolLimits = PoolLimits {
    connections: 1,
    waiting: 32,
    wait: Duration::from_secs(60),
    reconnect: RECONNECT_TIMEOUT,
    read: Duration::from_secs(40),
};

pub(crate) struct Postgres {
    /// Absent when the database was opened read-only.
    writer: Option<Writer>,
    readers: Arc<Pool>,
    /// For reads that take long, so that they delay only each other.
    long_readers: Arc<Pool>,
    replica: Option<Replica>,
    dedicated: Dedicated,
}

impl Postgres {
    pub(crate) async fn open(
        primary: &DatabaseUrl,
        replica: Option<&DatabaseUrl>,
        read_connections: usize,
        listener: Listener,
    ) -> Result<Self, OpenError> {
        schema::upgrade(primary, Connector::new(primary, Purpose::Write, STATEMENT_TIMEOUT)?).await?;

        let limits = PoolLimits {
            connections: READS_PER_CORE * read_connections.max(1),
            // Bounded by the HTTP connections of this node; the time they wait is the limit that counts.
            waiting: usize::MAX,
            wait: RECONNECT_TIMEOUT,
            reconnect: RECONNECT_TIMEOUT,
            read: 2 * STATEMENT_TIMEOUT,
        };
        let connector = Connector::new(primary, Purpose::Write, STATEMENT_TIMEOUT)?;
        // With the primary as well: a standby may lag.
        let readers = Arc::new(Pool::new(connector.clone(), limits));
        let replica = match replica {
            Some(url) => {
                let connector = Connector::new(url, Purpose::Read, STATEMENT_TIMEOUT)?;
                // The primary can answer instead, so no read waits for an unreachable replica.
                let pool = Pool::new(connector, PoolLimits { reconnect: Duration::ZERO, ..limits });
                Some(Replica::new(pool, readers.clone()))
            }
            None => None,
        };
        let writer = Some(Writer::start(&connector, listener));
        Self::with(primary, writer, readers, replica)
    }

    /// With the primary as well: a standby may lag.
    pub(crate) async fn open_read_only(primary: &DatabaseUrl) -> Result<Self, OpenError> {
        schema::expect_current(primary, Connector::new(primary, Purpose::Write, STATEMENT_TIMEOUT)?).await?;
        let connector = Connector::new(primary, Purpose::Write, STATEMENT_TIMEOUT)?;
        let limits = PoolLimits { connections: READ_ONLY_CONNECTIONS, wait: LONG_READS.read, ..LONG_READS };
        Self::with(primary, None, Arc::new(Pool::new(connector, limits)), None)
    }

    fn with(
        primary: &DatabaseUrl,
        writer: Option<Writer>,
        readers: Arc<Pool>,
        replica: Option<Replica>,
    ) -> Result<Self, OpenError> {
        let long = Connector::new(primary, Purpose::Write, LONG_STATEMENT_TIMEOUT)?;
        let dedicated = Connector::new(primary, Purpose::Write, dedicated::STATEMENT_TIMEOUT)?;
        Ok(Self {
            writer,
            readers,
            long_readers: Arc::new(Pool::new(long, LONG_READS)),
            replica,
            dedicated: Dedicated::new(dedicated),
        })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.writer.as_ref().map_or(0, Writer::queued)
    }

    pub(crate) fn rejected_writes(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::rejected)
    }

    pub(crate) async fn write(&self, lock_key: LockKey, work: Box<dyn ErasedWork>) -> Result<(), Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?.run(lock_key, work).await
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
