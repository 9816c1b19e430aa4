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

/// Batch writers for everything but likes. Each has one permanent connection, and waits for the network most
/// of the time, so a second one nearly doubles a node's throughput; more would make the batches smaller.
const OTHER_WRITERS: usize = 2;

/// Writes that may be queued for each batch writer; more are rejected.
const QUEUE_CAPACITY: usize = 1024;

pub(super) struct Writer {
    /// Likes are the most frequent writes. They have a batch writer of their own, since those of a batch are
    /// written together, in one round trip; with two, the batches would be half as large.
    likes: mpsc::Sender<Job>,
    others: Vec<mpsc::Sender<Job>>,
    /// The next of the others for writes without a lock key, round robin.
    next_queue: AtomicUsize,
    rejected: AtomicU64,
}

impl Writer {
    pub(super) fn start(connector: &Arc<Connector>) -> Self {
        let start = || {
            let (jobs, queue) = mpsc::channel(QUEUE_CAPACITY);
            tokio::spawn(BatchWriter::new(connector.clone()).run(queue));
            jobs
        };
        let others = (0..OTHER_WRITERS).map(|_| start()).collect();
        Self { likes: start(), others, next_queue: AtomicUsize::new(0), rejected: AtomicU64::new(0) }
    }

    pub(super) fn queued(&self) -> usize {
        let queues = self.others.iter().chain([&self.likes]);
        queues.map(|queue| queue.max_capacity() - queue.capacity()).sum()
    }

    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) async fn run(&self, lock_key: LockKey, work: JobWork) -> Result<(), Error> {
        let (reply, outcome) = oneshot::channel();
        match self.queue_of(&lock_key).try_send(Job::new(lock_key, work, reply)) {
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
    fn queue_of(&self, lock_key: &LockKey) -> &mpsc::Sender<Job> {
        let number = match lock_key {
            LockKey::Like(..) => return &self.likes,
            LockKey::Unshared => self.next_queue.fetch_add(1, Ordering::Relaxed),
            lock_key => {
                let mut hasher = DefaultHasher::new();
                lock_key.hash(&mut hasher);
                hasher.finish() as usize
            }
        };
        &self.others[number % self.others.len()]
    }
}
