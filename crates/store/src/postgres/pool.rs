//! A pool of connections for reads: bounded, opened on demand, reused until an error closes them.

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
    queued: AtomicUsize,
    idle: Lock<Vec<PostgresTx>>,
    /// Locked while connecting, so that only one read at a time tries an unreachable server.
    reconnector: Mutex<Reconnector>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PoolLimits {
    pub(super) connections: usize,
    /// Reads that may be queued for a connection; more are rejected.
    pub(super) max_queued: usize,
    pub(super) queue_timeout: Duration,
    /// How long a read waits for a server that has become unreachable.
    pub(super) reconnect_timeout: Duration,
    /// For a read that has a connection. Longer than the statement timeout, so that normally the server
    /// cancels it first.
    pub(super) read_timeout: Duration,
}

impl Pool {
    pub(super) fn new(connector: Arc<Connector>, limits: PoolLimits) -> Self {
        Self {
            limits,
            permits: Arc::new(Semaphore::new(limits.connections)),
            queued: AtomicUsize::new(0),
            idle: Lock::default(),
            reconnector: Mutex::new(Reconnector::new(connector, limits.reconnect_timeout)),
        }
    }

    pub(super) async fn run(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        let _permit = self.permit().await?;
        self.run_permitted(work).await
    }

    /// Runs a long read in its own task: the server goes on with it when the caller is cancelled, so its
    /// permit must not be released before it ends.
    pub(super) async fn run_detached(self: &Arc<Self>, mut work: Box<dyn ErasedWork>) -> Result<(), Error> {
        let (permit, pool) = (self.permit().await?, self.clone());
        let reading = tokio::spawn(async move {
            let _permit = permit;
            pool.run_permitted(&mut *work).await
        });
        reading.await.map_err(|_| Error::Closed)?
    }

    async fn run_permitted(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        // An idle connection may have been closed by the server. A read has no effects, so it is retried on a
        // new one.
        if let Some(idle) = self.take_idle() {
            match self.run_on(idle, work).await {
                Err(Error::Unavailable(cause)) => tracing::debug!(%cause, "read retried on a new connection"),
                outcome => return outcome,
            }
            // The other idle connections are probably closed too; if not, they are opened again.
            self.idle().clear();
        }
        let requested = Instant::now();
        let tx = self.reconnector.lock().await.connect(requested).await?;
        self.run_on(PooledConnection { pool: self, tx: Some(tx) }, work).await
    }

    async fn run_on(&self, mut pooled: PooledConnection<'_>, work: &mut dyn ErasedWork) -> Result<(), Error> {
        let Some(tx) = pooled.tx.as_mut() else { return Err(Error::Closed) };
        let outcome = timeout(self.limits.read_timeout, run_on_postgres(tx, work))
            .await
            .unwrap_or_else(|_| Err(Error::Unavailable("the server did not answer a read in time".into())));
        // The connection may still receive the response to this read, so it is not reused.
        if matches!(outcome, Err(Error::Unavailable(_) | Error::Panicked)) {
            pooled.tx = None;
        }
        outcome
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let entry = QueueEntry::new(&self.queued);
        if entry.ahead >= self.limits.max_queued {
            return Err(Error::Busy);
        }
        match timeout(self.limits.queue_timeout, self.permits.clone().acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| Error::Closed),
            Err(_) => Err(Error::Busy),
        }
    }

    fn take_idle(&self) -> Option<PooledConnection<'_>> {
        let mut idle = self.idle();
        while let Some(tx) = idle.pop() {
            if !tx.is_closed() {
                return Some(PooledConnection { pool: self, tx: Some(tx) });
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PostgresTx>> {
        self.idle.lock()
    }
}

/// Returns its connection to the pool when dropped, also if the read is cancelled: the client discards the
/// pending response before the next one.
struct PooledConnection<'p> {
    pool: &'p Pool,
    tx: Option<PostgresTx>,
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take()
            && !tx.is_closed()
        {
            self.pool.idle().push(tx);
        }
    }
}

/// A queued read; leaves the queue when dropped.
struct QueueEntry<'q> {
    queued: &'q AtomicUsize,
    /// Reads that were queued before it.
    ahead: usize,
}

impl<'q> QueueEntry<'q> {
    fn new(queued: &'q AtomicUsize) -> Self {
        Self { queued, ahead: queued.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }
}
