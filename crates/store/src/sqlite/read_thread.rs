//! A thread that reads on a connection of its own: for reads that take long, so that they delay only each
//! other.

use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError};
use tokio::sync::oneshot;

use super::connection;
use super::tx::SqliteTx;
use crate::error::{Error, OpenError};
use crate::work::{Slot, Work, run_on_sqlite};

/// Reads that may wait; more are rejected.
const QUEUE: usize = 32;

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
        let (jobs, queue) = crossbeam_channel::bounded::<Job>(QUEUE);
        let mut tx = SqliteTx::new(connection::open_reader(path, connection::WRITE_CACHE)?);
        let thread = std::thread::Builder::new().name("store-read".into()).spawn(move || {
            while let Ok(job) = queue.recv() {
                // The client of a closed channel has disconnected: its read is skipped.
                if !job.reply.is_closed() {
                    drop(job.reply.send((job.read)(&mut tx)));
                }
            }
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Each statement of `work` sees what is committed by then.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (slot, result) = Slot::pair();
        self.queue(Box::new(move |tx| run_on_sqlite(tx, work).map(|found| slot.put(found)))).await?;
        result.take()
    }

    /// All statements of `work` see one snapshot.
    pub(super) async fn run_in_snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        let (slot, result) = Slot::pair();
        self.queue(Box::new(move |tx| {
            // Open only if the last rollback failed.
            tx.end()?;
            tx.control("BEGIN")?;
            let outcome = run_on_sqlite(tx, work);
            tx.end()?;
            outcome.map(|found| slot.put(found))
        }))
        .await?;
        result.take()
    }

    async fn queue(&self, read: Read) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(Job { read, reply }) {
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
