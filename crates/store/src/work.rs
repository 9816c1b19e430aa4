//! The closure that runs inside a transaction, and how each backend runs it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::error::Error;
use crate::postgres::tx::PostgresTx;
use crate::sqlite::tx::SqliteTx;
use crate::tx::Tx;

/// The work of a transaction: called with the open transaction, done when its future completes.
pub(crate) trait Work<T>:
    for<'t> FnOnce(&'t mut Tx<'t>) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}
impl<T, F> Work<T> for F where
    F: for<'t> FnOnce(&'t mut Tx<'t>) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}

/// Work that can be run again from the start, after PostgreSQL rolled it back or the connection was lost.
pub(crate) trait RetryableWork<T>: Work<T> + Clone {}
impl<T, F: Work<T> + Clone> RetryableWork<T> for F {}

/// Work without the type of its result, so that queueing, retries and timeouts are compiled once instead of
/// for every query.
pub(crate) trait ErasedWork: Send {
    /// Puts the result into a [`ResultSlot`].
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>>;
}

/// Passes a result of type `T` past [`ErasedWork`] to the caller.
pub(crate) struct ResultSlot<T>(Arc<Mutex<Option<T>>>);

impl<T> ResultSlot<T> {
    /// Two handles to one slot: for the work, and for the caller.
    pub(crate) fn pair() -> (Self, Self) {
        let slot = Arc::new(Mutex::new(None));
        (Self(slot.clone()), Self(slot))
    }

    pub(crate) fn put(&self, result: T) {
        *self.0.lock() = Some(result);
    }

    /// The result; [`Error::Closed`] unless the work has succeeded.
    pub(crate) fn take(&self) -> Result<T, Error> {
        self.0.lock().take().ok_or(Error::Closed)
    }
}

/// Erases work that may run several times; the caller gets the result of the last run.
pub(crate) fn erase_retryable<T: Send + 'static>(
    work: impl RetryableWork<T>,
) -> (Box<dyn ErasedWork>, ResultSlot<T>) {
    let (slot, result) = ResultSlot::pair();
    (Box::new(SlotWork { work: move || Some(work.clone()), slot }), result)
}

/// Erases work that runs once.
pub(crate) fn erase_once<T: Send + 'static>(work: impl Work<T>) -> (Box<dyn ErasedWork>, ResultSlot<T>) {
    let (slot, result) = ResultSlot::pair();
    let mut work = Some(work);
    (Box::new(SlotWork { work: move || work.take(), slot }), result)
}

struct SlotWork<T, N> {
    /// Returns the work for the next run; `None` if it has run and cannot be run again.
    work: N,
    slot: ResultSlot<T>,
}

impl<T: Send, W: Work<T>, N: FnMut() -> Option<W> + Send> ErasedWork for SlotWork<T, N> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>> {
        let (work, slot) = ((self.work)(), &self.slot);
        async move {
            slot.put(work.ok_or(Error::Closed)?(tx).await?);
            Ok(())
        }
        .boxed()
    }
}

/// Runs work on SQLite. A panic becomes an error, so that it does not end the thread.
pub(crate) fn run_on_sqlite<T>(handle: &mut SqliteTx, work: impl Work<T>) -> Result<T, Error> {
    let run = || {
        let mut tx = Tx::Sqlite(handle);
        ready(work(&mut tx))
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Error::Panicked))
}

/// Runs work on PostgreSQL. A panic becomes an error, so that it does not end the task.
pub(crate) async fn run_on_postgres(handle: &mut PostgresTx, work: &mut dyn ErasedWork) -> Result<(), Error> {
    let run = async {
        let mut tx = Tx::Postgres(handle);
        work.run(&mut tx).await
    };
    AssertUnwindSafe(run).catch_unwind().await.unwrap_or(Err(Error::Panicked))
}

/// Polls a future that is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("on SQLite no query waits, and work awaits nothing but queries"),
    }
}
