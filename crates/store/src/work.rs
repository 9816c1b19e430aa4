//! A transaction's work, and how a backend runs it.

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

/// A transaction's work: called with the transaction, done when the future is.
pub(crate) trait Work<T>:
    for<'t> FnOnce(&'t mut Tx<'t>) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}
impl<T, F> Work<T> for F where
    F: for<'t> FnOnce(&'t mut Tx<'t>) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}

/// Work that can be run again from the start: a database across a network may lose it half done.
pub(crate) trait RetryableWork<T>: Work<T> + Clone {}
impl<T, F: Work<T> + Clone> RetryableWork<T> for F {}

/// Work without the type of its result, so that what queues, retries and times it out is compiled once and
/// not again for every query.
pub(crate) trait ErasedWork: Send {
    /// Keeps the result in a [`Slot`].
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>>;
}

/// Where the result is kept until its caller, who knows the type, takes it.
pub(crate) struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T> Slot<T> {
    /// The slot twice: for the work, and for the caller.
    pub(crate) fn pair() -> (Self, Self) {
        let slot = Arc::new(Mutex::new(None));
        (Self(slot.clone()), Self(slot))
    }

    pub(crate) fn put(&self, result: T) {
        *self.0.lock() = Some(result);
    }

    /// Work that succeeded has put its result here.
    pub(crate) fn take(&self) -> Result<T, Error> {
        self.0.lock().take().ok_or(Error::Closed)
    }
}

/// Work that can be run again: the result of the last run counts.
pub(crate) fn retryable<T: Send + 'static>(work: impl RetryableWork<T>) -> (Box<dyn ErasedWork>, Slot<T>) {
    let (slot, result) = Slot::pair();
    (Box::new(Keeping { work: move || Some(work.clone()), slot }), result)
}

/// Work that is run once.
pub(crate) fn once<T: Send + 'static>(work: impl Work<T>) -> (Box<dyn ErasedWork>, Slot<T>) {
    let (slot, result) = Slot::pair();
    let mut work = Some(work);
    (Box::new(Keeping { work: move || work.take(), slot }), result)
}

struct Keeping<T, N> {
    /// The work for the next run, if there may be one.
    work: N,
    slot: Slot<T>,
}

impl<T: Send, W: Work<T>, N: FnMut() -> Option<W> + Send> ErasedWork for Keeping<T, N> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>> {
        let (work, slot) = ((self.work)(), &self.slot);
        async move {
            slot.put(work.ok_or(Error::Closed)?(tx).await?);
            Ok(())
        }
        .boxed()
    }
}

/// Runs work on SQLite to its end. A panic is an error, so that it does not end the thread.
pub(crate) fn run_on_sqlite<T>(handle: &mut SqliteTx, work: impl Work<T>) -> Result<T, Error> {
    let run = || {
        let mut tx = Tx::Sqlite(handle);
        ready(work(&mut tx))
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(Error::Panicked))
}

/// Runs work on PostgreSQL, likewise.
pub(crate) async fn run_on_postgres(handle: &mut PostgresTx, work: &mut dyn ErasedWork) -> Result<(), Error> {
    let run = async {
        let mut tx = Tx::Postgres(handle);
        work.run(&mut tx).await
    };
    AssertUnwindSafe(run).catch_unwind().await.unwrap_or(Err(Error::Panicked))
}

/// Polls a future that never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("on SQLite no query waits, and work awaits nothing but queries"),
    }
}
