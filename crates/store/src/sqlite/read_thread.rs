//! A thread that reads on a connection of its own: for reads that take long, so that they delay only each other.

use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError};
use tokio::sync::oneshot;

use super::connection;
use super::tx::SqliteTx;
use crate::error::{Error, OpenError};
use crate::tx::{Work, run_on_sqlite};

/// Reads that may wait; more are rejected.
const QUEUE: usize = 32;

type Job = Box<dyn FnOnce(&mut SqliteTx) + Send>;

#[derive(Debug)]
pub(super) struct ReadThread {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadThread {
    pub(super) fn start(path: &Path) -> Result<Self, OpenError> {
        let (jobs, queue) = crossbeam_channel::bounded::<Job>(QUEUE);
        let mut tx = SqliteTx::new(connection::open_reader(path, connection::WRITE_CACHE)?);
        let thread = std::thread::Builder::new().name("store-read".into()).spawn(move || {
            while let Ok(job) = queue.recv() {
                job(&mut tx);
            }
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Each statement of `work` sees what is committed by then.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.queue(move |tx| run_on_sqlite(tx, work)).await
    }

    /// All statements of `work` see one snapshot.
    pub(super) async fn run_in_snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.queue(move |tx| {
            // Open only if the last rollback failed.
            tx.end()?;
            tx.control("BEGIN")?;
            let outcome = run_on_sqlite(tx, work);
            tx.end()?;
            outcome
        })
        .await
    }

    async fn queue<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut SqliteTx) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            // The client of a closed channel has disconnected: its read is skipped.
            if !reply.is_closed() {
                drop(reply.send(read(tx)));
            }
        });
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(job) {
            Ok(()) => answer.await.map_err(|_| Error::Closed)?,
            Err(TrySendError::Full(_)) => Err(Error::Busy),
            Err(TrySendError::Disconnected(_)) => Err(Error::Closed),
        }
    }
}

impl Drop for ReadThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the database's read thread had panicked");
        }
    }
}
