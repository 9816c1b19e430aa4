//! Connections for reads that take microseconds. They run right where they are asked for: handing them to another
//! thread would cost more than the reads themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use super::connection;
use crate::tx::{Tx, ready};
use crate::{Error, OpenError, Work};

#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<Vec<Tx>>,
    returned: Condvar,
}

impl Pool {
    /// `size` should be no less than there are threads that ask, so that none of them waits.
    pub(super) fn open(path: &Path, size: usize) -> Result<Self, OpenError> {
        let idle = (0..size.max(1)).map(|_| Ok(Tx::new(connection::open_reader(path)?)));
        let idle = idle.collect::<Result<Vec<_>, OpenError>>()?;
        Ok(Self { idle: Mutex::new(idle), returned: Condvar::new() })
    }

    pub(super) fn run<T>(&self, work: impl Work<T>) -> Result<T, Error> {
        let mut tx = self.take();
        let outcome = catch_unwind(AssertUnwindSafe(|| ready(work(&mut tx)))).unwrap_or(Err(Error::Panicked));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(tx);
        self.returned.notify_one();
        outcome
    }

    fn take(&self) -> Tx {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match idle.pop() {
                Some(tx) => return tx,
                None => idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner),
            }
        }
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
        let pool = Pool::open(&path, 1).unwrap();
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
}
