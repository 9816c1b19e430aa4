//! The handle on the database: which backend it is, and the ways to run work on it.
//!
//! The public methods of [`Store`] are in the files of their tables.

use std::path::PathBuf;

use crate::changes::Listener;
use crate::error::{Error, OpenError};
use crate::lock_key::LockKey;
use crate::postgres::{self, DatabaseUrl, Postgres};
use crate::sqlite::{self, Sqlite};
use crate::work::{RetryableWork, Work, once, retryable};

/// The schema version of exported rows: SQLite's.
pub const SCHEMA_VERSION: u32 = sqlite::schema::VERSION;

#[derive(Debug, Clone)]
pub enum Database {
    /// A SQLite file that belongs to this process.
    File(PathBuf),
    /// A PostgreSQL server that other nodes use as well. The replica answers the reads for which it has
    /// replayed everything that was committed before them.
    Server { primary: DatabaseUrl, replica: Option<DatabaseUrl> },
}

#[derive(Debug)]
pub struct Store {
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Store {
    /// Opens the database, creating or upgrading its schema where needed. `listener` hears of every change
    /// that is committed through this handle. A file is opened on the calling thread.
    pub async fn open(
        database: &Database,
        read_connections: usize,
        listener: Listener,
    ) -> Result<Self, OpenError> {
        let backend = match database {
            Database::File(path) => Backend::Sqlite(Sqlite::open(path, read_connections, listener)?),
            Database::Server { primary, replica } => {
                let postgres = Postgres::open(primary, replica.as_ref(), read_connections, listener).await?;
                Backend::Postgres(Box::new(postgres))
            }
        };
        Ok(Self { backend })
    }

    /// Opens the database beside a service that may be writing to it. It must exist with the current schema:
    /// nothing is created or upgraded, and every write fails.
    pub async fn open_read_only(database: &Database) -> Result<Self, OpenError> {
        let backend = match database {
            Database::File(path) => Backend::Sqlite(Sqlite::open_read_only(path)?),
            Database::Server { primary, .. } => {
                Backend::Postgres(Box::new(Postgres::open_read_only(primary).await?))
            }
        };
        Ok(Self { backend })
    }

    /// The schema version of this database: each backend has migrations of its own.
    pub fn schema_version(&self) -> u32 {
        match &self.backend {
            Backend::Sqlite(_) => sqlite::schema::VERSION,
            Backend::Postgres(_) => postgres::schema::VERSION,
        }
    }

    /// Whether other nodes write to the same database. The listener does not hear of their commits.
    pub fn is_shared(&self) -> bool {
        matches!(self.backend, Backend::Postgres(_))
    }

    pub fn queued_writes(&self) -> usize {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.queued_writes(),
            Backend::Postgres(postgres) => postgres.queued_writes(),
        }
    }

    /// How many writes were rejected because the queue was full.
    pub fn rejected_writes(&self) -> u64 {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.rejected_writes(),
            Backend::Postgres(postgres) => postgres.rejected_writes(),
        }
    }

    // PostgreSQL's futures are boxed, so that SQLite's stay small.

    /// Runs `work` in a transaction; it is committed when this returns `Ok`.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        lock_key: LockKey,
        work: impl RetryableWork<T>,
    ) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = retryable(work);
                Box::pin(postgres.write(lock_key, work)).await?;
                result.take()
            }
        }
    }

    /// Runs `work` on what is committed.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl RetryableWork<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = retryable(work);
                Box::pin(postgres.read(work)).await?;
                result.take()
            }
        }
    }

    /// The same for work that may take long: it waits for its like and delays no other read.
    pub(crate) async fn read_long<T: Send + 'static>(&self, work: impl RetryableWork<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read_long(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = retryable(work);
                Box::pin(postgres.read_long(work)).await?;
                result.take()
            }
        }
    }

    /// Runs `work` without a time limit; all its statements see one snapshot.
    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.snapshot(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = once(work);
                Box::pin(postgres.snapshot(work)).await?;
                result.take()
            }
        }
    }

    /// Runs `work` without a time limit in a transaction of its own. It is not run again when it fails.
    pub(crate) async fn write_once<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = once(work);
                Box::pin(postgres.write_once(work)).await?;
                result.take()
            }
        }
    }
}
