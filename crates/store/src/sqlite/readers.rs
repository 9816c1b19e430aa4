//! Threads that read, each on a connection of its own, for reads that take long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError};
use tokio::sync::oneshot;

use super::connection;
use crate::tx::{Tx, ready};
use crate::{Error, Once, OpenError};

type Job = Box<dyn FnOnce(&mut Tx) + Send>;

#[derive(Debug)]
pub(super) struct Readers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(path: &Path, name: &str, count: usize, waiting: usize) -> Result<Self, OpenError> {
        let (jobs, queue) = crossbeam_channel::bounded::<Job>(waiting);
        let mut threads = Vec::new();
        for number in 0..count.max(1) {
            let mut tx = Tx::on_sqlite(connection::open_reader(path, connection::WRITE_CACHE)?);
            let queue = queue.clone();
            let thread = std::thread::Builder::new().name(format!("{name}-{number}")).spawn(move || {
                while let Ok(job) = queue.recv() {
                    job(&mut tx);
                }
            })?;
            threads.push(thread);
        }
        Ok(Self { jobs: Some(jobs), threads })
    }

    pub(super) async fn run<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            // Nobody waits any more: a client that hung up costs nothing further.
            if reply.is_closed() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| ready(work(tx)))).unwrap_or(Err(Error::Panicked));
            drop(reply.send(outcome));
        });
        match self.jobs.as_ref().ok_or(Error::Closed)?.try_send(job) {
            Ok(()) => answer.await.map_err(|_| Error::Closed)?,
            Err(TrySendError::Full(_)) => Err(Error::Busy),
            Err(TrySendError::Disconnected(_)) => Err(Error::Closed),
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a database reader had panicked");
            }
        }
    }
}
