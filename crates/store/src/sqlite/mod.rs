//! SQLite behind the seam: one writer that commits in groups, a few readers beside it.

pub(crate) mod connection;
pub(crate) mod health;
mod pool;
mod readers;
pub(crate) mod schema;
pub(crate) mod sequence;
pub(crate) mod statement;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use crate::tx::Tx;
use crate::{Error, Listener, Once, OpenError, Work};

use pool::Pool;
use readers::Readers;
use writer::Writer;

/// What all readers may keep of the database in memory.
const READ_CACHE: u64 = 32 << 20;

/// Nobody has written for so long: time to tidy up the log.
const PAUSE: Duration = Duration::from_secs(5);

/// Slow reads that may wait.
const SLOW_QUEUE: usize = 32;

#[derive(Debug)]
pub(crate) struct Sqlite {
    // Dropped in this order: the last connection to close tidies the write-ahead log away.
    /// One thread for reads that take long, so that they only hold up each other.
    slow_reader: Readers,
    /// Not there when the database was opened to be looked at.
    own: Option<Own>,
}

/// What only that process has which the database belongs to.
#[derive(Debug)]
struct Own {
    readers: Arc<Pool>,
    writer: Writer,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, read_connections: usize, listener: Listener) -> Result<Self, OpenError> {
        let conn = connection::open(path)?;
        let readers = Arc::new(Pool::open(path, read_connections, READ_CACHE)?);
        let writer = Writer::start(conn, Arc::downgrade(&readers), listener, PAUSE)?;
        let slow_reader = Readers::start(path, "store-slow", 1, SLOW_QUEUE)?;
        Ok(Self { slow_reader, own: Some(Own { readers, writer }) })
    }

    /// Beside the process that writes, if there is one. There is no pool: it keeps its views until it hears of a
    /// commit, and nobody tells us of those.
    pub(crate) fn open_to_read(path: &Path) -> Result<Self, OpenError> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(OpenError::Missing { place: path.display().to_string() }),
            // What cannot be looked at may well be there.
            Err(cause) => return Err(OpenError::Denied { path: path.to_owned(), cause: cause.into() }),
        }
        schema::expect_current(&connection::open_reader(path, connection::WRITE_CACHE)?, path)?;
        Ok(Self { slow_reader: Readers::start(path, "store-read", 1, SLOW_QUEUE)?, own: None })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.own.as_ref().map_or(0, |own| own.writer.queued())
    }

    pub(crate) fn shed_writes(&self) -> u64 {
        self.own.as_ref().map_or(0, |own| own.writer.shed())
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        self.own.as_ref().ok_or(Error::ReadOnly)?.writer.run(work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.own {
            Some(own) => own.readers.run(work),
            None => self.slow_reader.run(work).await,
        }
    }

    pub(crate) async fn read_slowly<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.slow_reader.run(work).await
    }

    pub(crate) async fn view<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        self.slow_reader.run(move |tx| in_one_view(tx, work).boxed()).await
    }
}

async fn in_one_view<T>(tx: &mut Tx, work: impl Once<T>) -> Result<T, Error> {
    // Left open only by work that panicked.
    if tx.is_open() {
        tx.control("ROLLBACK")?;
    }
    tx.control("BEGIN")?;
    let outcome = work(tx).await;
    tx.control("ROLLBACK")?;
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_log_does_not_grow_for_ever_under_readers_who_never_pause() {
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
                // Whoever has read since then holds a view when the next write begins.
                length();
            }
            done.store(true, Ordering::Relaxed);
        });
        let log = std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        assert!(log < (WRITES * BYTES / 2) as u64, "the log has {log} bytes");
    }
}
