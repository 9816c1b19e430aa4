//! The database handle: selects the backend, and runs transactions on it. The public methods of [`Store`] are
//! in the files of their tables.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Error, OpenError};
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::lock_key::LockKey;
use crate::postgres::{self, DatabaseUrl, Postgres};
use crate::read_barrier_stats::ReadBarrierStats;
use crate::revisions::{Revisions, Ticket};
use crate::sqlite::{self, Sqlite};
use crate::work::{RetryableWork, Work, erase_once, erase_retryable};

/// The schema version of exported rows: SQLite's.
pub const SCHEMA_VERSION: u32 = sqlite::schema::VERSION;

#[derive(Debug, Clone)]
pub enum Database {
    /// A SQLite file that belongs to this process.
    File(PathBuf),
    /// A PostgreSQL server that other nodes use as well. A read runs on the replica once the replica has
    /// replayed every commit before that read, else on the primary.
    Server { primary: DatabaseUrl, replica: Option<DatabaseUrl> },
}

#[derive(Debug)]
pub struct Store {
    backend: Backend,
    revisions: Arc<Revisions>,
}

#[derive(Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// Reads that skip more rows than this are long reads.
pub const MAX_SHORT_OFFSET: u64 = 1_000;

impl Store {
    /// Opens the database, creating or upgrading its schema where needed. Opening a SQLite file blocks the
    /// calling thread.
    pub async fn open(database: &Database, read_connections: usize) -> Result<Self, OpenError> {
        let revisions = Arc::new(match database {
            Database::File(_) => Revisions::of_batches(),
            Database::Server { .. } => Revisions::of_checks(),
        });
        let backend = match database {
            Database::File(path) => Backend::Sqlite(Sqlite::open(path, read_connections, revisions.clone())?),
            Database::Server { primary, replica } => {
                let replica = replica.as_ref();
                let postgres = Postgres::open(primary, replica, read_connections, revisions.clone()).await?;
                Backend::Postgres(Box::new(postgres))
            }
        };
        Ok(Self { backend, revisions })
    }

    /// Opens the database for reads only, while a service may be writing to it. The database must exist with
    /// the current schema version: nothing is created or upgraded, and every write fails.
    pub async fn open_read_only(database: &Database) -> Result<Self, OpenError> {
        let backend = match database {
            Database::File(path) => Backend::Sqlite(Sqlite::open_read_only(path)?),
            Database::Server { primary, .. } => {
                Backend::Postgres(Box::new(Postgres::open_read_only(primary).await?))
            }
        };
        Ok(Self { backend, revisions: Arc::new(Revisions::of_batches()) })
    }

    /// What is published of the writes of all nodes.
    pub fn revisions(&self) -> &Arc<Revisions> {
        &self.revisions
    }

    /// The schema version of this database; each backend has its own migrations.
    pub fn schema_version(&self) -> u32 {
        match &self.backend {
            Backend::Sqlite(_) => sqlite::schema::VERSION,
            Backend::Postgres(_) => postgres::schema::VERSION,
        }
    }

    /// Whether other nodes may write to the same database.
    pub fn is_shared(&self) -> bool {
        matches!(self.backend, Backend::Postgres(_))
    }

    pub fn queued_writes(&self) -> usize {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.queued_writes(),
            Backend::Postgres(postgres) => postgres.queued_writes(),
        }
    }

    /// Whether the disk is so full that only writes which free space are accepted. Unknown for a server.
    pub fn is_full(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.is_full(),
            Backend::Postgres(_) => false,
        }
    }

    /// Whether an error has reported damage of the SQLite file.
    pub fn is_damaged(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.is_damaged(),
            Backend::Postgres(_) => false,
        }
    }

    /// Like [`Store::is_damaged`], after a check of the whole file: SQLite reports an I/O error of a read as
    /// damage, too. The check runs once a minute at most.
    pub async fn recheck_damage(&self) -> bool {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.recheck_damage().await,
            Backend::Postgres(_) => false,
        }
    }

    /// Writes rejected because the queue was full.
    pub fn rejected_writes(&self) -> u64 {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.rejected_writes(),
            Backend::Postgres(postgres) => postgres.rejected_writes(),
        }
    }

    /// `None` on SQLite, which needs no read barrier.
    pub fn read_barrier_stats(&self) -> Option<ReadBarrierStats> {
        match &self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(postgres) => postgres.read_barrier_stats(),
        }
    }

    // PostgreSQL's futures are boxed, which keeps SQLite's small.

    /// When this returns, every change is published that was committed before the call, on any node: cached
    /// values that are current by then are up to date.
    pub async fn read_barrier(&self) -> Result<(), Error> {
        match &self.backend {
            // A commit is published before it is acknowledged.
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(postgres) => Box::pin(postgres.read_barrier()).await,
        }
    }

    /// Waits until what was read before the ticket was taken is published: a read sees a commit a moment
    /// before that.
    pub async fn await_published(&self, ticket: Ticket) -> Result<(), Error> {
        if self.revisions.is_published(ticket) {
            return Ok(());
        }
        match &self.backend {
            Backend::Sqlite(_) => {
                self.revisions.await_batch(ticket).await;
                Ok(())
            }
            Backend::Postgres(postgres) => Box::pin(postgres.read_barrier()).await,
        }
    }

    /// Runs `work` in a write transaction, which is committed when this returns `Ok`.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        lock_key: LockKey,
        work: impl RetryableWork<T>,
    ) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = erase_retryable(work);
                Box::pin(postgres.write(lock_key, work)).await?;
                result.take()
            }
        }
    }

    /// Like [`Store::write`], for a write that frees space. On SQLite it also works when the disk is full.
    pub(crate) async fn write_freeing<T: Send + 'static>(
        &self,
        lock_key: LockKey,
        work: impl RetryableWork<T>,
    ) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write_freeing(work).await,
            Backend::Postgres(_) => self.write(lock_key, work).await,
        }
    }

    /// Sets or removes a like. `work` does it on SQLite; PostgreSQL writes the likes of a batch together.
    pub(crate) async fn write_like(
        &self,
        like: LikeWrite,
        work: impl RetryableWork<LikeOutcome>,
    ) -> Result<LikeOutcome, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => {
                if like.liked_at.is_some() {
                    sqlite.write(work).await
                } else {
                    sqlite.write_freeing(work).await
                }
            }
            Backend::Postgres(postgres) => Box::pin(postgres.write_like(like)).await,
        }
    }

    /// Runs a short read on the committed state.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl RetryableWork<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = erase_retryable(work);
                Box::pin(postgres.read(work)).await?;
                result.take()
            }
        }
    }

    /// Runs a long read. It queues behind other long reads only, and does not delay short ones.
    pub(crate) async fn read_long<T: Send + 'static>(&self, work: impl RetryableWork<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read_long(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = erase_retryable(work);
                Box::pin(postgres.read_long(work)).await?;
                result.take()
            }
        }
    }

    /// Runs a read without a time limit; all its statements see one snapshot.
    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.snapshot(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = erase_once(work);
                Box::pin(postgres.snapshot(work)).await?;
                result.take()
            }
        }
    }

    /// Runs a write without a time limit, alone in its transaction. It is not retried.
    pub(crate) async fn write_once<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => {
                let (work, result) = erase_once(work);
                Box::pin(postgres.write_once(work)).await?;
                result.take()
            }
        }
    }
}
