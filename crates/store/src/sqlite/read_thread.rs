//! A thread with its own connection for long reads, so that they delay only each other.

use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError};
use tokio::sync::oneshot;

use super::connection;
use super::tx::SqliteTx;
use crate::error::{Error, OpenError};
use crate::work::{ResultSlot, Work, run_on_sqlite};

/// Reads that may be queued; more are rejected.
const QUEUE_CAPACITY: usize = 32;

type Read = Box<dyn FnOnce(&mut SqliteTx) -> Result<(), Error> + Send>;

struct Job {
    read: Read,
    reply: oneshot::Sender<Result<(), Error>>,
}

#[derive(Debug)]
pub(super) struct ReadThread {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadThread {
    pub(super) fn start(path: &Path) -> Result<Self, OpenError> {
        let (jobs, queue) = crossbeam_channel::bounded::<Job>(QUEUE_CAPACITY);
        let mut tx = SqliteTx::new(connection::open_reader(path, connection::PAGE_CACHE)?);
        let thread = std::thread::Builder::new().name("store-read".into()).spawn(move || {
            while let Ok(job) = queue.recv() {
                // A closed reply channel means that the caller was cancelled: its read is skipped.
                if !job.reply.is_closed() {
                    drop(job.reply.send((job.read)(&mut tx)));
                }
            }
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Each statement of `work` has its own snapshot.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (slot, result) = ResultSlot::pair();
        self.queue(Box::new(move |tx| run_on_sqlite(tx, work).map(|result| slot.put(result)))).await?;
        result.take()
    }

    /// All statements of `work` see one snapshot.
    pub(super) async fn run_in_snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (slot, result) = ResultSlot::pair();
        self.queue(Box::new(move |tx| {
            // Does nothing unless the last rollback failed.
            tx.rollback_if_open()?;
            tx.control("BEGIN")?;
            let outcome = run_on_sqlite(tx, work);
            tx.rollback_if_open()?;
            outcome.map(|result| slot.put(result))
        }))
        .await?;
        result.take()
    }

    async fn queue(&self, read: Read) -> Result<(), Error> {
        let (reply, outcome) = oneshot::channel();
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(Job { read, reply }) {
            Ok(()) => outcome.await.map_err(|_| Error::Closed)?,
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
            tracing::error!("database read thread panicked");
        }
    }
}
