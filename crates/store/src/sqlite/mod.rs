//! The SQLite backend: one writer thread that commits in batches, and readers beside it.

pub(crate) mod connection;
mod pool;
mod read_thread;
pub(crate) mod schema;
pub(crate) mod tx;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::changes::Listener;
use crate::error::{Error, OpenError};
use crate::work::Work;

use pool::Pool;
use read_thread::ReadThread;
use writer::Writer;

/// Page cache of all pooled readers together.
const READ_CACHE: u64 = 32 << 20;

/// Without writes for so long, the write-ahead log is checkpointed.
const CHECKPOINT_AFTER: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Sqlite {
    // Dropped in this order: the last connection to close removes the write-ahead log.
    /// For reads that take long.
    read_thread: ReadThread,
    /// Absent when the database was opened read-only.
    owner: Option<Owner>,
}

/// What only the process has that owns the database.
#[derive(Debug)]
struct Owner {
    readers: Arc<Pool>,
    writer: Writer,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, read_connections: usize, listener: Listener) -> Result<Self, OpenError> {
        let conn = schema::open(path)?;
        let readers = Arc::new(Pool::open(path, read_connections, READ_CACHE)?);
        let writer = Writer::start(conn, Arc::downgrade(&readers), listener, CHECKPOINT_AFTER)?;
        Ok(Self { read_thread: ReadThread::start(path)?, owner: Some(Owner { readers, writer }) })
    }

    /// Beside the process that writes, if there is one. There is no pool: it keeps its snapshots until it
    /// hears of a commit, and commits of another process are not reported.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(OpenError::Missing { place: path.display().to_string() }),
            // A folder that cannot be read may well contain it.
            Err(cause) => return Err(OpenError::Denied { path: path.to_owned(), cause: cause.into() }),
        }
        schema::expect_current(&connection::open_reader(path, connection::WRITE_CACHE)?, path)?;
        Ok(Self { read_thread: ReadThread::start(path)?, owner: None })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.owner.as_ref().map_or(0, |owner| owner.writer.queued())
    }

    pub(crate) fn rejected_writes(&self) -> u64 {
        self.owner.as_ref().map_or(0, |owner| owner.writer.rejected())
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.owner.as_ref().ok_or(Error::ReadOnly)?.writer.run(work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.owner {
            Some(owner) => owner.readers.run(work),
            None => self.read_thread.run(work).await,
        }
    }

    pub(crate) async fn read_long<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.read_thread.run(work).await
    }

    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.read_thread.run_in_snapshot(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_log_does_not_grow_without_bound_under_readers_that_never_pause() {
        const WRITES: usize = 400;
        const BYTES: usize = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let store = Sqlite::open(&path, 2, Box::new(|_| {})).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let run = |sql| {
            let written = store.write(move |tx| async move { tx.execute(sql, &[]).await }.boxed());
            runtime.block_on(written).unwrap()
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
                // A reader holds a snapshot when the next write begins.
                length();
            }
            done.store(true, Ordering::Relaxed);
        });
        let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        assert!(log < (WRITES * BYTES / 2) as u64, "the log has {log} bytes");
    }
}
