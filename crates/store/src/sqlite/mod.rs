//! The SQLite backend: one writer thread that commits in batches, a pool of readers, and a thread for long
//! reads.

pub(crate) mod connection;
mod damage;
mod pool;
mod read_thread;
mod reserve;
pub(crate) mod schema;
pub(crate) mod tx;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, OpenError};
use crate::revisions::Revisions;
use crate::work::{RetryableWork, Work};

use damage::Damage;
use pool::Pool;
use read_thread::ReadThread;
use reserve::Reserve;
use writer::Writer;

/// Page cache of all pooled readers together, in bytes.
const READ_CACHE: u64 = 32 << 20;

/// Time without writes after which the write-ahead log is checkpointed.
const CHECKPOINT_AFTER: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Sqlite {
    // Dropped in this order: the last connection to close, the writer's, removes the write-ahead log.
    /// For long reads.
    read_thread: ReadThread,
    /// Absent when the database was opened read-only.
    owner: Option<OwnerConnections>,
    damage: Arc<Damage>,
}

/// The connections that only the process which owns the database opens.
#[derive(Debug)]
struct OwnerConnections {
    readers: Arc<Pool>,
    writer: Writer,
    reserve: Option<Arc<Reserve>>,
}

impl Sqlite {
    pub(crate) fn open(
        path: &Path,
        read_connections: usize,
        revisions: Arc<Revisions>,
    ) -> Result<Self, OpenError> {
        // First: on a full disk, opening the database needs the space that this releases.
        let reserve = Reserve::open(path).map(Arc::new);
        let conn = schema::open(path)?;
        let readers = Arc::new(Pool::open(path, read_connections, READ_CACHE)?);
        let writer =
            Writer::start(conn, Arc::downgrade(&readers), revisions, reserve.clone(), CHECKPOINT_AFTER)?;
        let owner = OwnerConnections { readers, writer, reserve };
        let damage = Arc::new(Damage::new(path));
        Ok(Self { read_thread: ReadThread::start(path)?, owner: Some(owner), damage })
    }

    /// Opens the database while another process may be writing to it. There is no pool: a pooled reader keeps
    /// its snapshot until a commit is reported, and commits of another process are not.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(OpenError::Missing { database: path.display().to_string() }),
            // The folder cannot be read, so the file may exist.
            Err(cause) => return Err(OpenError::Denied { path: path.to_owned(), cause: cause.into() }),
        }
        schema::expect_current(&connection::open_reader(path, connection::PAGE_CACHE)?, path)?;
        let damage = Arc::new(Damage::new(path));
        Ok(Self { read_thread: ReadThread::start(path)?, owner: None, damage })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.owner.as_ref().map_or(0, |owner| owner.writer.queued())
    }

    pub(crate) fn rejected_writes(&self) -> u64 {
        self.owner.as_ref().map_or(0, |owner| owner.writer.rejected())
    }

    /// Whether the reserve file is released, so that only writes which free space are accepted.
    pub(crate) fn is_full(&self) -> bool {
        self.owner
            .as_ref()
            .and_then(|owner| owner.reserve.as_ref())
            .is_some_and(|reserve| reserve.is_released())
    }

    /// Whether an error has reported damage of the file.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damage.is_reported()
    }

    /// Whether the file is damaged, as far as errors have reported it and a check has not refuted them.
    pub(crate) async fn recheck_damage(&self) -> bool {
        if !self.damage.is_reported() {
            return false;
        }
        let damage = self.damage.clone();
        // A check that failed refutes nothing.
        tokio::task::spawn_blocking(move || damage.recheck()).await.unwrap_or(true)
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        let owner = self.owner.as_ref().ok_or(Error::ReadOnly)?;
        if self.is_full() {
            return Err(Error::Full("what is left is reserved for deletes".into()));
        }
        self.damage.observe(owner.writer.run(work).await)
    }

    /// Runs a write that frees space. If the disk was full, it runs again: the writer has made room.
    pub(crate) async fn write_freeing<T: Send + 'static>(
        &self,
        work: impl RetryableWork<T>,
    ) -> Result<T, Error> {
        let writer = &self.owner.as_ref().ok_or(Error::ReadOnly)?.writer;
        let outcome = match writer.run_freeing(work.clone()).await {
            Err(Error::Full(_)) => writer.run_freeing(work).await,
            other => other,
        };
        self.damage.observe(outcome)
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.damage.observe(match &self.owner {
            Some(owner) => owner.readers.run(work),
            None => self.read_thread.run(work).await,
        })
    }

    pub(crate) async fn read_long<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.damage.observe(self.read_thread.run(work).await)
    }

    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.damage.observe(self.read_thread.run_in_snapshot(work).await)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_log_stays_bounded_under_constant_reads() {
        const WRITES: usize = 400;
        const BYTES: usize = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let store = Sqlite::open(&path, 2, Arc::new(Revisions::of_batches())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let run = |sql| {
            let write = store.write(move |tx| async move { tx.execute(sql, &[]).await }.boxed());
            runtime.block_on(write).unwrap()
        };
        run("CREATE TABLE pages (bytes BLOB) STRICT");
        run("INSERT INTO pages VALUES (zeroblob(1048576))");
        let length = || {
            let read =
                store.read(|tx| tx.first("SELECT length(bytes) FROM pages", &[], |row| row.int(0)).boxed());
            read.now_or_never().unwrap().unwrap()
        };

        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(length(), Some(BYTES as i64));
                }
            });
            for _ in 0..WRITES {
                run("UPDATE pages SET bytes = randomblob(1048576)");
                // Leaves a reader with a snapshot when the next write begins.
                length();
            }
            done.store(true, Ordering::Relaxed);
        });
        let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        assert!(log < (WRITES * BYTES / 2) as u64, "the log has {log} bytes");
    }
}
