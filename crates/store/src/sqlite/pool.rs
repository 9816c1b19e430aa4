//! Connections for reads that take microseconds. They run right where they are asked for: handing them to another
//! thread would cost more than the reads themselves.
//!
//! A connection keeps its view of the database as long as nothing is committed: to take a new one costs three calls
//! to the system. While somebody writes, nobody keeps one: the log begins anew only when a write
//! finds no view of it, and would grow for ever under readers who always hold one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::connection;
use crate::tx::{Tx, ready};
use crate::{Error, OpenError, Work};

/// With less, a reader would fetch the upper pages of a large database again and again.
const LEAST_CACHE: u64 = 2 << 20;

#[derive(Debug)]
pub(super) struct Pool {
    shelf: Mutex<Shelf>,
    returned: Condvar,
    /// Counts commits; those it counts are in every view taken afterwards.
    commits: AtomicU64,
    writing: AtomicBool,
}

#[derive(Debug)]
struct Shelf {
    idle: Vec<Reader>,
    /// Who waits for one to come back. Telling nobody that it did would be a call to the system for nothing.
    waiting: usize,
}

#[derive(Debug)]
struct Reader {
    tx: Tx,
    /// How many commits there were when the view it has open was taken.
    commits: u64,
}

impl Reader {
    /// Takes a view that holds everything committed so far, unless it has such a one.
    fn look(&mut self, commits: u64) -> Result<(), Error> {
        if self.tx.is_open() && self.commits == commits {
            return Ok(());
        }
        self.look_away()?;
        self.commits = commits;
        self.tx.control("BEGIN")
    }

    fn look_away(&mut self) -> Result<(), Error> {
        if self.tx.is_open() { self.tx.control("ROLLBACK") } else { Ok(()) }
    }
}

impl Pool {
    /// `size` should be no less than there are threads that ask, so that none of them waits. They share `cache` bytes,
    /// if that leaves each of them enough.
    pub(super) fn open(path: &Path, size: usize, cache: u64) -> Result<Self, OpenError> {
        let size = size.max(1);
        let each = (cache / size as u64).max(LEAST_CACHE);
        let open = |_| Ok(Reader { tx: Tx::on_sqlite(connection::open_reader(path, each)?), commits: 0 });
        let idle = (0..size).map(open).collect::<Result<Vec<_>, OpenError>>()?;
        let shelf = Mutex::new(Shelf { idle, waiting: 0 });
        let (commits, writing) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { shelf, returned: Condvar::new(), commits, writing })
    }

    pub(super) fn run<T>(&self, work: impl Work<T>) -> Result<T, Error> {
        let mut reader = self.take();
        let outcome = self.run_on(&mut reader, work);
        let mut shelf = self.lock();
        shelf.idle.push(reader);
        if shelf.waiting > 0 {
            self.returned.notify_one();
        }
        outcome
    }

    fn run_on<T>(&self, reader: &mut Reader, work: impl Work<T>) -> Result<T, Error> {
        reader.look(self.commits.load(Ordering::Acquire))?;
        let outcome =
            catch_unwind(AssertUnwindSafe(|| ready(work(&mut reader.tx)))).unwrap_or(Err(Error::Panicked));
        let outdated = reader.commits != self.commits.load(Ordering::Acquire);
        if outcome.is_err() || outdated || self.writing.load(Ordering::Acquire) {
            reader.look_away()?;
        }
        outcome
    }

    /// A write begins: views are let go of.
    pub(super) fn write_begins(&self) {
        self.writing.store(true, Ordering::Release);
        self.let_go();
    }

    /// It was committed: nobody may read an older view from here on.
    pub(super) fn write_ended(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        self.writing.store(false, Ordering::Release);
        self.let_go();
    }

    fn let_go(&self) {
        for reader in &mut self.lock().idle {
            if let Err(error) = reader.look_away() {
                tracing::warn!(%error, "a reader holds on to an old view of the database");
            }
        }
    }

    fn take(&self) -> Reader {
        let mut shelf = self.lock();
        loop {
            if let Some(reader) = shelf.idle.pop() {
                return reader;
            }
            shelf.waiting += 1;
            shelf = self.returned.wait(shelf).unwrap_or_else(PoisonError::into_inner);
            shelf.waiting -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn more_readers_than_connections_take_turns_and_a_panic_costs_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        drop(connection::open(&path).unwrap());
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
    fn however_many_share_the_cache_each_has_enough() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        drop(connection::open(&path).unwrap());
        for (size, kibibytes) in [(1, 8 << 10), (2, 4 << 10), (64, 2 << 10)] {
            let pool = Pool::open(&path, size, 8 << 20).unwrap();
            let cache = pool.run(|tx| tx.first("PRAGMA cache_size", &[], |row| row.int(0)).boxed());
            assert_eq!(cache.unwrap(), Some(-kibibytes), "{size} readers");
        }
    }

    #[test]
    fn a_view_lasts_until_something_is_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let writer = connection::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE notes (n INTEGER)").unwrap();
        let pool = Pool::open(&path, 1, 1 << 20).unwrap();
        let count = || pool.run(|tx| tx.first("SELECT count(*) FROM notes", &[], |row| row.int(0)).boxed());
        assert_eq!(count().unwrap(), Some(0));
        writer.execute_batch("INSERT INTO notes VALUES (1)").unwrap();
        assert_eq!(count().unwrap(), Some(0), "not told yet");
        pool.write_ended();
        assert_eq!(count().unwrap(), Some(1));

        // Nobody looks at an old view while somebody writes, so the log can be emptied.
        pool.write_begins();
        assert_eq!(count().unwrap(), Some(1));
        let left =
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(left, 0, "a reader was in the way");
    }
}
