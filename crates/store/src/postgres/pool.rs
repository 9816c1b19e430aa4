//! Connections for reads: a bounded number, opened when needed, kept while they work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex as Lock, MutexGuard};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::connector::{Connector, Reconnector};
use super::tx::PostgresTx;
use crate::error::Error;
use crate::work::{ErasedWork, run_on_postgres};

pub(super) struct Pool {
    limits: PoolLimits,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    idle: Lock<Vec<PostgresTx>>,
    /// One read at a time connects to a server that may be unreachable.
    reconnector: Mutex<Reconnector>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PoolLimits {
    pub(super) connections: usize,
    /// How many reads may wait for one of them,
    pub(super) waiting: usize,
    /// and how long.
    pub(super) wait: Duration,
    /// How long a read waits for an unreachable server.
    pub(super) reconnect: Duration,
    /// For a read, once it has a connection. More than the statement timeout, so that as a rule the server
    /// ends it.
    pub(super) read: Duration,
}

impl Pool {
    pub(super) fn new(connector: Arc<Connector>, limits: PoolLimits) -> Self {
        Self {
            limits,
            permits: Arc::new(Semaphore::new(limits.connections)),
            waiting: AtomicUsize::new(0),
            idle: Lock::default(),
            reconnector: Mutex::new(Reconnector::new(connector, limits.reconnect)),
        }
    }

    pub(super) async fn run(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        let _permit = self.permit().await?;
        self.run_permitted(work).await
    }

    /// The same for reads that take long: when the caller disconnects, the server still works, so the permit
    /// is released when the read is done and not before.
    pub(super) async fn run_detached(self: &Arc<Self>, mut work: Box<dyn ErasedWork>) -> Result<(), Error> {
        let (permit, pool) = (self.permit().await?, self.clone());
        let reading = tokio::spawn(async move {
            let _permit = permit;
            pool.run_permitted(&mut *work).await
        });
        reading.await.map_err(|_| Error::Closed)?
    }

    async fn run_permitted(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        // An idle connection may have been closed since. A read changes nothing, so it is run again on a new
        // one.
        if let Some(idle) = self.take() {
            match self.run_on(idle, work).await {
                Err(Error::Unavailable(cause)) => tracing::debug!(%cause, "read is run again"),
                outcome => return outcome,
            }
            // The other idle ones are probably closed as well; if not, it costs a few connections.
            self.idle().clear();
        }
        let asked = Instant::now();
        let fresh = self.reconnector.lock().await.connect(asked).await?;
        self.run_on(Pooled { pool: self, tx: Some(fresh) }, work).await
    }

    async fn run_on(&self, mut pooled: Pooled<'_>, work: &mut dyn ErasedWork) -> Result<(), Error> {
        let Some(tx) = pooled.tx.as_mut() else { return Err(Error::Closed) };
        let outcome = timeout(self.limits.read, run_on_postgres(tx, work))
            .await
            .unwrap_or_else(|_| Err(Error::Unavailable("a read was not answered in time".into())));
        // Such a connection may still receive an answer to this read.
        if matches!(outcome, Err(Error::Unavailable(_) | Error::Panicked)) {
            pooled.tx = None;
        }
        outcome
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let waiting = Waiting::enter(&self.waiting);
        if waiting.before >= self.limits.waiting {
            return Err(Error::Busy);
        }
        match timeout(self.limits.wait, self.permits.clone().acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| Error::Closed),
            Err(_) => Err(Error::Busy),
        }
    }

    fn take(&self) -> Option<Pooled<'_>> {
        let mut idle = self.idle();
        while let Some(tx) = idle.pop() {
            if !tx.is_closed() {
                return Some(Pooled { pool: self, tx: Some(tx) });
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PostgresTx>> {
        self.idle.lock()
    }
}

/// A connection that returns to its pool, even when the read is cancelled: the client discards the pending
/// answer before the next one.
struct Pooled<'p> {
    pool: &'p Pool,
    tx: Option<PostgresTx>,
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take()
            && !tx.is_closed()
        {
            self.pool.idle().push(tx);
        }
    }
}

/// A read in the queue.
struct Waiting<'q> {
    count: &'q AtomicUsize,
    /// How many were in the queue before it.
    before: usize,
}

impl<'q> Waiting<'q> {
    fn enter(count: &'q AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
