//! A pool of connections for short reads, which take microseconds. They run on the calling thread: passing
//! them to another thread would cost more than the read itself.
//!
//! An idle connection keeps its snapshot until the next commit, because beginning one costs three system
//! calls. During a write no idle connection keeps one: SQLite restarts the write-ahead log only if no reader
//! has a snapshot in it, so the log would grow without bound under constant reads.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::connection;
use super::tx::SqliteTx;
use crate::error::{Error, OpenError};
use crate::work::{Work, run_on_sqlite};

/// Page cache of each reader at least: enough for the interior B-tree pages of a large database.
const MIN_CACHE: u64 = 2 << 20;

#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<IdleReaders>,
    returned: Condvar,
    /// The number of commits so far. A snapshot is stale if there were fewer when it began.
    commits: AtomicU64,
    is_writing: AtomicBool,
}

#[derive(Debug)]
struct IdleReaders {
    readers: Vec<Reader>,
    /// Threads that wait for a reader; with none, the system call of a notification is saved.
    waiters: usize,
}

#[derive(Debug)]
struct Reader {
    tx: SqliteTx,
    /// The number of commits when its open snapshot began.
    commits: u64,
}

impl Reader {
    /// Begins a snapshot, unless the open one includes all `commits`.
    fn begin_snapshot(&mut self, commits: u64) -> Result<(), Error> {
        if self.tx.is_open() && self.commits == commits {
            return Ok(());
        }
        self.tx.rollback_if_open()?;
        self.commits = commits;
        self.tx.control("BEGIN")
    }
}

impl Pool {
    /// `size` should be at least the number of threads that read, so that none of them waits. The readers
    /// share `cache` bytes of page cache, but each gets at least `MIN_CACHE`.
    pub(super) fn open(path: &Path, size: usize, cache: u64) -> Result<Self, OpenError> {
        let size = size.max(1);
        let cache = (cache / size as u64).max(MIN_CACHE);
        let open = |_| Ok(Reader { tx: SqliteTx::new(connection::open_reader(path, cache)?), commits: 0 });
        let readers = (0..size).map(open).collect::<Result<Vec<_>, OpenError>>()?;
        let idle = Mutex::new(IdleReaders { readers, waiters: 0 });
        let (commits, is_writing) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { idle, returned: Condvar::new(), commits, is_writing })
    }

    pub(super) fn run<T>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (mut work, mut result) = (Some(work), None);
        self.run_erased(&mut |tx| {
            result = Some(run_on_sqlite(tx, work.take().ok_or(Error::Closed)?)?);
            Ok(())
        })?;
        result.ok_or(Error::Closed)
    }

    /// Not generic, so that it is compiled once instead of for every query.
    fn run_erased(&self, read: &mut dyn FnMut(&mut SqliteTx) -> Result<(), Error>) -> Result<(), Error> {
        let mut reader = self.acquire();
        let outcome = self.run_on(&mut reader, read);
        let mut idle = self.lock();
        idle.readers.push(reader);
        if idle.waiters > 0 {
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
            reader.tx.rollback_if_open()?;
        }
        outcome
    }

    /// Called before a write: releases the snapshots of idle readers.
    pub(super) fn begin_write(&self) {
        self.is_writing.store(true, Ordering::Release);
        self.release_snapshots();
    }

    /// Called after the commit: reads from now on begin a new snapshot.
    pub(super) fn end_write(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        self.is_writing.store(false, Ordering::Release);
        self.release_snapshots();
    }

    fn release_snapshots(&self) {
        for reader in &self.lock().readers {
            if let Err(error) = reader.tx.rollback_if_open() {
                tracing::warn!(%error, "database snapshot not released");
            }
        }
    }

    fn acquire(&self) -> Reader {
        let mut idle = self.lock();
        loop {
            if let Some(reader) = idle.readers.pop() {
                return reader;
            }
            idle.waiters += 1;
            self.returned.wait(&mut idle);
            idle.waiters -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, IdleReaders> {
        self.idle.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn threads_share_one_connection_and_a_panic_returns_it_to_the_pool() {
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
        let panicked = pool.run(|_| async { if true { panic!("on purpose") } else { Ok(()) } }.boxed());
        assert!(matches!(panicked, Err(Error::Panicked)));
        assert_eq!(one().unwrap(), Some(1));
    }

    #[test]
    fn readers_share_the_page_cache_above_a_minimum_each() {
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
    fn a_snapshot_is_kept_until_the_next_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let writer = schema::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE notes (n INTEGER)").unwrap();
        let pool = Pool::open(&path, 1, 1 << 20).unwrap();
        let count = || pool.run(|tx| tx.first("SELECT count(*) FROM notes", &[], |row| row.int(0)).boxed());
        assert_eq!(count().unwrap(), Some(0));
        writer.execute_batch("INSERT INTO notes VALUES (1)").unwrap();
        assert_eq!(
            count().unwrap(),
            Some(0),
            "the pool was not told of the commit, so it must keep its snapshot"
        );
        pool.end_write();
        assert_eq!(count().unwrap(), Some(1));

        // During a write no reader keeps a snapshot, so the log can be truncated.
        pool.begin_write();
        assert_eq!(count().unwrap(), Some(1));
        let busy =
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(busy, 0, "no reader may keep a snapshot during a write");
    }
}
