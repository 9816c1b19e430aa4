//! Connections for reads: a bounded number, made when they are needed, kept as long as they live.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::link::{Link, Reach};
use crate::tx::Tx;
use crate::{Error, Work};

pub(super) struct Pool {
    bounds: Bounds,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    idle: Lock<Vec<Tx>>,
    /// One at a time knocks at a door that may be closed.
    reach: Mutex<Reach>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: usize,
    /// How many may wait for one of them,
    pub(super) waiting: usize,
    /// and how long.
    pub(super) patience: Duration,
    /// How long a server may be away before they are told so.
    pub(super) absence: Duration,
    /// For a read to be done, once it has a connection. More than the server gives each statement, so that as a rule
    /// it is the server who ends it.
    pub(super) time: Duration,
}

impl Pool {
    pub(super) fn new(link: Arc<Link>, bounds: Bounds) -> Self {
        Self {
            bounds,
            places: Arc::new(Semaphore::new(bounds.connections)),
            waiting: AtomicUsize::new(0),
            idle: Lock::default(),
            reach: Mutex::new(Reach::new(link, bounds.absence)),
        }
    }

    pub(super) async fn run<T>(&self, work: impl Work<T>) -> Result<T, Error> {
        let _place = self.place().await?;
        self.run_here(work).await
    }

    /// The same for reads that take long: whoever leaves in the middle leaves the server at work, and the place is free
    /// when it is done, not before.
    pub(super) async fn run_to_the_end<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Work<T>,
    ) -> Result<T, Error> {
        let (place, pool) = (self.place().await?, self.clone());
        let reading = tokio::spawn(async move {
            let _place = place;
            pool.run_here(work).await
        });
        reading.await.map_err(|_| Error::Closed)?
    }

    async fn run_here<T>(&self, work: impl Work<T>) -> Result<T, Error> {
        // What lay idle may have died since. A read changes nothing, so it is done again on a fresh connection.
        if let Some(idle) = self.take() {
            match self.run_on(idle, work.clone()).await {
                Err(Error::Unavailable(cause)) => tracing::debug!(%cause, "a read is done again"),
                outcome => return outcome,
            }
            // Those beside it are no better. If they are after all, it costs a few connections.
            self.idle().clear();
        }
        let asked = Instant::now();
        let fresh = Tx::on_postgres(self.reach.lock().await.connect(asked).await?);
        self.run_on(Lent { pool: self, tx: Some(fresh) }, work).await
    }

    async fn run_on<T>(&self, mut lent: Lent<'_>, work: impl Work<T>) -> Result<T, Error> {
        let Some(tx) = lent.tx.as_mut() else { return Err(Error::Closed) };
        let reading = AssertUnwindSafe(async { work(tx).await }).catch_unwind();
        let outcome = match timeout(self.bounds.time, reading).await {
            Ok(outcome) => outcome.unwrap_or(Err(Error::Panicked)),
            Err(_) => Err(Error::Unavailable("a read was not answered in time".into())),
        };
        // Nobody knows what comes next on a connection that failed so.
        if matches!(outcome, Err(Error::Unavailable(_) | Error::Panicked)) {
            lent.tx = None;
        }
        outcome
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let waiting = Waiting::enter(&self.waiting);
        if waiting.already >= self.bounds.waiting {
            return Err(Error::Busy);
        }
        match timeout(self.bounds.patience, self.places.clone().acquire_owned()).await {
            Ok(place) => place.map_err(|_| Error::Closed),
            Err(_) => Err(Error::Busy),
        }
    }

    fn take(&self) -> Option<Lent<'_>> {
        let mut idle = self.idle();
        while let Some(tx) = idle.pop() {
            if !tx.is_lost() {
                return Some(Lent { pool: self, tx: Some(tx) });
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Tx>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan. It comes back even if whoever asked leaves in the middle: what is still on its way is read
/// and thrown away before the next one's answer.
struct Lent<'p> {
    pool: &'p Pool,
    tx: Option<Tx>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take()
            && !tx.is_lost()
        {
            self.pool.idle().push(tx);
        }
    }
}

/// Somebody in the queue.
struct Waiting<'q> {
    count: &'q AtomicUsize,
    /// How many were there before.
    already: usize,
}

impl<'q> Waiting<'q> {
    fn enter(count: &'q AtomicUsize) -> Self {
        Self { count, already: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
