//! Queues writes for PostgreSQL, and distributes them over a few concurrent batch writers.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::batch_writer::BatchWriter;
use super::connector::Connector;
use super::job::{Job, JobWork};
use crate::error::Error;
use crate::lock_key::LockKey;

/// Each batch writer has one permanent connection and can keep one core of the server busy. It waits for the
/// network most of the time, so a second one nearly doubles a node's write throughput; more would make the
/// batches smaller.
const BATCH_WRITERS: usize = 2;

/// Writes that may be queued for each batch writer; more are rejected.
const QUEUE_CAPACITY: usize = 1024;

pub(super) struct Writer {
    queues: Vec<mpsc::Sender<Job>>,
    /// The next queue for writes without a lock key, round robin.
    next_queue: AtomicUsize,
    rejected: AtomicU64,
}

impl Writer {
    pub(super) fn start(connector: &Arc<Connector>) -> Self {
        let start = |_| {
            let (jobs, queue) = mpsc::channel(QUEUE_CAPACITY);
            tokio::spawn(BatchWriter::new(connector.clone()).run(queue));
            jobs
        };
        let queues = (0..BATCH_WRITERS).map(start).collect();
        Self { queues, next_queue: AtomicUsize::new(0), rejected: AtomicU64::new(0) }
    }

    pub(super) fn queued(&self) -> usize {
        self.queues.iter().map(|queue| queue.max_capacity() - queue.capacity()).sum()
    }

    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) async fn run(&self, lock_key: LockKey, work: JobWork) -> Result<(), Error> {
        let (reply, outcome) = oneshot::channel();
        let queue = &self.queues[self.queue_of(&lock_key)];
        match queue.try_send(Job::new(lock_key, work, reply)) {
            Ok(()) => outcome.await.map_err(|_| Error::Closed)?,
            Err(TrySendError::Full(_)) => {
                self.rejected.fetch_add(1, Ordering::Relaxed);
                Err(Error::Busy)
            }
            Err(TrySendError::Closed(_)) => Err(Error::Closed),
        }
    }

    /// Writes with the same lock key go to the same batch writer, so that they do not wait for each other's
    /// locks.
    fn queue_of(&self, lock_key: &LockKey) -> usize {
        let number = match lock_key {
            LockKey::Unshared => self.next_queue.fetch_add(1, Ordering::Relaxed),
            LockKey::Like(post, _) => post.0 as usize,
            lock_key => {
                let mut hasher = DefaultHasher::new();
                lock_key.hash(&mut hasher);
                hasher.finish() as usize
            }
        };
        number % self.queues.len()
    }
}
