//! Writes on their way to PostgreSQL: a few lanes side by side, each of which commits in groups.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::job::{Job, Waiting};
use super::lane::Lane;
use super::link::Link;
use crate::holds::Holds;
use crate::{Error, Listener, Work};

/// Each is a connection that is always open, and a core of the server at work. A lane waits for the network most of
/// the time, so a second one nearly doubles what a node writes; more of them would make the groups smaller.
const LANES: usize = 2;

/// Writes that may wait in a lane; past that, callers are told to come back.
const QUEUE: usize = 1024;

pub(super) struct Writer {
    lanes: Vec<mpsc::Sender<Box<dyn Job>>>,
    /// Who goes next where it does not matter.
    turn: AtomicUsize,
    shed: AtomicU64,
}

impl Writer {
    pub(super) fn start(link: &Arc<Link>, listener: Listener) -> Self {
        let listener = Arc::new(listener);
        let lane = |_| {
            let (jobs, queue) = mpsc::channel(QUEUE);
            tokio::spawn(Lane::new(link.clone(), listener.clone()).run(queue));
            jobs
        };
        let lanes = (0..LANES).map(lane).collect();
        Self { lanes, turn: AtomicUsize::new(0), shed: AtomicU64::new(0) }
    }

    pub(super) fn queued(&self) -> usize {
        self.lanes.iter().map(|lane| lane.max_capacity() - lane.capacity()).sum()
    }

    pub(super) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    pub(super) async fn run<T: Send + 'static>(&self, holds: Holds, work: impl Work<T>) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let lane = &self.lanes[self.lane(&holds)];
        match lane.try_send(Box::new(Waiting::new(holds, work, reply))) {
            Ok(()) => answer.await.map_err(|_| Error::Closed)?,
            Err(TrySendError::Full(_)) => {
                self.shed.fetch_add(1, Ordering::Relaxed);
                Err(Error::Busy)
            }
            Err(TrySendError::Closed(_)) => Err(Error::Closed),
        }
    }

    /// What holds the same goes the same way: in one lane nobody waits for a lock of the other.
    fn lane(&self, holds: &Holds) -> usize {
        let number = match holds {
            Holds::Nothing => self.turn.fetch_add(1, Ordering::Relaxed),
            Holds::Like(post, _) => post.0 as usize,
            holds => {
                let mut hasher = DefaultHasher::new();
                holds.hash(&mut hasher);
                hasher.finish() as usize
            }
        };
        number % self.lanes.len()
    }
}
