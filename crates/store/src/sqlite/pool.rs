//! Connections for reads that take microseconds. They run on the calling thread: handing them to another one
//! would cost more than the reads themselves.
//!
//! A connection keeps its snapshot until something is committed, because taking a new one costs three system
//! calls. While a write runs, no connection keeps one: the write-ahead log restarts only when a write finds
//! no snapshot of it, and would grow without bound under readers that always hold one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::connection;
use super::tx::SqliteTx;
use crate::error::{Error, OpenError};
use crate::work::{Work, run_on_sqlite};

/// With a smaller cache, a reader would fetch the upper pages of a large database again and again.
const MIN_CACHE: u64 = 2 << 20;

#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<Idle>,
    returned: Condvar,
    /// Counts commits; those it counts are in every snapshot taken afterwards.
    commits: AtomicU64,
    is_writing: AtomicBool,
}

#[derive(Debug)]
struct Idle {
    readers: Vec<Reader>,
    /// Threads that wait for a reader; without one, a notification would be a system call for nothing.
    waiting: usize,
}

#[derive(Debug)]
struct Reader {
    tx: SqliteTx,
    /// How many commits there were when its open snapshot was taken.
    commits: u64,
}

impl Reader {
    /// Takes a snapshot with every commit so far, unless it has such a one.
    fn begin_snapshot(&mut self, commits: u64) -> Result<(), Error> {
        if self.tx.is_open() && self.commits == commits {
            return Ok(());
        }
        self.tx.end()?;
        self.commits = commits;
        self.tx.control("BEGIN")
    }
}

impl Pool {
    /// `size` should be no less than there are threads that read, so that none of them waits. The readers
    /// share `cache` bytes of page cache, if that leaves each of them enough.
    pub(super) fn open(path: &Path, size: usize, cache: u64) -> Result<Self, OpenError> {
        let size = size.max(1);
        let cache = (cache / size as u64).max(MIN_CACHE);
        let open = |_| Ok(Reader { tx: SqliteTx::new(connection::open_reader(path, cache)?), commits: 0 });
        let readers = (0..size).map(open).collect::<Result<Vec<_>, OpenError>>()?;
        let idle = Mutex::new(Idle { readers, waiting: 0 });
        let (commits, is_writing) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { idle, returned: Condvar::new(), commits, is_writing })
    }

    pub(super) fn run<T>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (mut work, mut found) = (Some(work), None);
        self.run_once(&mut |tx| {
            found = Some(run_on_sqlite(tx, work.take().ok_or(Error::Closed)?)?);
            Ok(())
        })?;
        found.ok_or(Error::Closed)
    }

    /// Without the type of the result, so that it is compiled once.
    fn run_once(&self, read: &mut dyn FnMut(&mut SqliteTx) -> Result<(), Error>) -> Result<(), Error> {
        let mut reader = self.take();
        let outcome = self.run_on(&mut reader, read);
        let mut idle = self.lock();
        idle.readers.push(reader);
        if idle.waiting > 0 {
            self.returned.notify_one();
        }
        outcome
    }

    fn run_on(
        &self,
        reader: &mut Reader,
        read: &mut dyn FnMut(&mut SqliteTx) -> Result<(), Error>,
    ) -> Result<(), Error> {
        reader.begin_snapshot(self.commits.load(Ordering::Acquire))?;
        let outcome = read(&mut reader.tx);
        let is_stale = reader.commits != self.commits.load(Ordering::Acquire);
        if outcome.is_err() || is_stale || self.is_writing.load(Ordering::Acquire) {
            reader.tx.end()?;
        }
        outcome
    }

    /// A write begins: snapshots are released.
    pub(super) fn write_begins(&self) {
        self.is_writing.store(true, Ordering::Release);
        self.release_snapshots();
    }

    /// It was committed: no read may use an older snapshot from here on.
    pub(super) fn write_ended(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        self.is_writing.store(false, Ordering::Release);
        self.release_snapshots();
    }

    fn release_snapshots(&self) {
        for reader in &self.lock().readers {
            if let Err(error) = reader.tx.end() {
                tracing::warn!(%error, "a reader keeps an old snapshot of the database");
            }
        }
    }

    fn take(&self) -> Reader {
        let mut idle = self.lock();
        loop {
            if let Some(reader) = idle.readers.pop() {
                return reader;
            }
            idle.waiting += 1;
            self.returned.wait(&mut idle);
            idle.waiting -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn more_readers_than_connections_take_turns_and_a_panic_costs_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        drop(schema::open(&path).unwrap());
        let pool = Pool::open(&path, 1, 1 << 20).unwrap();
        let one = || pool.run(|tx| tx.first("SELECT 1", &[], |row| row.int(0)).boxed());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50).for_each(|_| assert_eq!(one().unwrap(), Some(1))));
            }
        });
        let broken = pool.run(|_| async { if true { panic!("on purpose") } else { Ok(()) } }.boxed());
        assert!(matches!(broken, Err(Error::Panicked)));
        assert_eq!(one().unwrap(), Some(1));
    }

    #[test]
    fn readers_share_the_cache_down_to_a_minimum_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        drop(schema::open(&path).unwrap());
        for (size, kibibytes) in [(1, 8 << 10), (2, 4 << 10), (64, 2 << 10)] {
            let pool = Pool::open(&path, size, 8 << 20).unwrap();
            let cache = pool.run(|tx| tx.first("PRAGMA cache_size", &[], |row| row.int(0)).boxed());
            assert_eq!(cache.unwrap(), Some(-kibibytes), "{size} readers");
        }
    }

    #[test]
    fn a_snapshot_lasts_until_something_is_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let writer = schema::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE notes (n INTEGER)").unwrap();
        let pool = Pool::open(&path, 1, 1 << 20).unwrap();
        let count = || pool.run(|tx| tx.first("SELECT count(*) FROM notes", &[], |row| row.int(0)).boxed());
        assert_eq!(count().unwrap(), Some(0));
        writer.execute_batch("INSERT INTO notes VALUES (1)").unwrap();
        assert_eq!(count().unwrap(), Some(0), "not told yet");
        pool.write_ended();
        assert_eq!(count().unwrap(), Some(1));

        // During a write no reader keeps a snapshot, so the log can be truncated.
        pool.write_begins();
        assert_eq!(count().unwrap(), Some(1));
        let left =
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(left, 0, "a reader was in the way");
    }
}
