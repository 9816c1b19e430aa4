//! SQLite behind the seam: one writer that commits in groups, a few readers beside it.

pub(crate) mod connection;
mod pool;
mod readers;
mod schema;
mod writer;

use std::path::Path;
use std::sync::Arc;

use crate::{Error, Listener, OpenError, Work};

use pool::Pool;
use readers::Readers;
use writer::Writer;

/// What all readers may keep of the database in memory.
const READ_CACHE: u64 = 96 << 20;

/// Slow reads that may wait.
const SLOW_QUEUE: usize = 32;

#[derive(Debug)]
pub(crate) struct Sqlite {
    // Dropped in this order: the last connection to close tidies the write-ahead log away.
    readers: Arc<Pool>,
    /// One thread for reads that take long, so that they only hold up each other.
    slow_reader: Readers,
    writer: Writer,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, read_connections: usize, listener: Listener) -> Result<Self, OpenError> {
        let conn = connection::open(path)?;
        let readers = Arc::new(Pool::open(path, read_connections, READ_CACHE)?);
        let writer = Writer::start(conn, Arc::downgrade(&readers), listener)?;
        let slow_reader = Readers::start(path, "store-slow", 1, SLOW_QUEUE)?;
        Ok(Self { readers, slow_reader, writer })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.writer.queued()
    }

    pub(crate) fn shed_writes(&self) -> u64 {
        self.writer.shed()
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.writer.run(work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.readers.run(work)
    }

    pub(crate) async fn read_slowly<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.slow_reader.run(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_log_does_not_grow_for_ever_under_readers_who_never_pause() {
        const WRITES: usize = 400;
        const BYTES: usize = 64 << 10;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let store = Sqlite::open(&path, 2, Box::new(|_| {})).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let run = |sql| {
            let written = store.write(move |tx| async move { tx.execute(sql, &[]).await }.boxed());
            runtime.block_on(written).unwrap()
        };
        run("CREATE TABLE pages (bytes BLOB) STRICT");
        run("INSERT INTO pages VALUES (zeroblob(65536))");
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
                run("UPDATE pages SET bytes = randomblob(65536)");
                // Whoever has read since then holds a view when the next write begins.
                length();
            }
            done.store(true, Ordering::Relaxed);
        });
        let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        assert!(log < (WRITES * BYTES / 2) as u64, "the log has {log} bytes");
    }
}
