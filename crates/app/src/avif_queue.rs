//! The AVIF images that are queued, being encoded or settled.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use blobs::PhotoFile;
use parking_lot::Mutex;
use quick_cache::unsync::Cache;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::thread_pool::ThreadPool;
use crate::variants::Variant;
use crate::{Client, Error};

/// The images whose outcome is remembered. One that has left the caches since it was encoded is not encoded
/// again: that would repeat as long as the caches are too small.
const MAX_SETTLED: usize = 1 << 14;

#[derive(Debug)]
pub(crate) struct AvifEncodes {
    /// `None` if AVIF is off.
    queue: Option<AvifQueue>,
    state: Mutex<State>,
    encoded: AtomicU64,
    failed: AtomicU64,
    nanoseconds: AtomicU64,
}

#[derive(Debug)]
struct AvifQueue {
    pool: ThreadPool,
    requests: UnboundedSender<AvifRequest>,
    /// Taken by the task that runs the encodes.
    requested: Mutex<Option<UnboundedReceiver<AvifRequest>>>,
}

#[derive(Debug)]
struct State {
    /// Queued or running, so that none is queued twice.
    in_progress: HashSet<Variant>,
    settled: Cache<Variant, AvifStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AvifStatus {
    /// Neither queued nor settled.
    Unknown,
    InProgress,
    Encoded,
    Failed,
}

/// An image to encode, and the master to encode it from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AvifRequest {
    pub(crate) client: Client,
    pub(crate) variant: Variant,
    pub(crate) size: (u32, u32),
    pub(crate) master: PhotoFile,
    pub(crate) master_size: (u32, u32),
}

/// What the AVIF encodes have done.
#[derive(Debug, Clone)]
pub struct AvifStats {
    pub encoded: u64,
    /// Images that could not be encoded.
    pub failed: u64,
    /// The time of all encodes together.
    pub time: Duration,
}

impl AvifEncodes {
    /// Without a pool, no image is encoded or served as AVIF.
    pub(crate) fn new(pool: Option<ThreadPool>) -> Self {
        let queue = pool.map(|pool| {
            let (requests, requested) = unbounded_channel();
            AvifQueue { pool, requests, requested: Mutex::new(Some(requested)) }
        });
        let state = State { in_progress: HashSet::new(), settled: Cache::new(MAX_SETTLED) };
        let (encoded, failed, nanoseconds) = Default::default();
        Self { queue, state: Mutex::new(state), encoded, failed, nanoseconds }
    }

    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        self.queue.as_ref().map(|queue| &queue.pool)
    }

    pub(crate) fn stats(&self) -> AvifStats {
        AvifStats {
            encoded: self.encoded.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
        }
    }

    /// The images that are queued or being encoded.
    pub(crate) fn depth(&self) -> usize {
        self.state.lock().in_progress.len()
    }

    pub(crate) fn is_on(&self) -> bool {
        self.queue.is_some()
    }

    pub(crate) fn status(&self, variant: Variant) -> AvifStatus {
        let state = self.state.lock();
        match state.settled.get(&variant) {
            Some(settled) => *settled,
            None if state.in_progress.contains(&variant) => AvifStatus::InProgress,
            None => AvifStatus::Unknown,
        }
    }

    /// Queues an image, unless it is queued or settled already.
    pub(crate) fn request(&self, request: AvifRequest) {
        let Some(queue) = &self.queue else { return };
        let mut state = self.state.lock();
        let variant = request.variant;
        if state.settled.get(&variant).is_none() && state.in_progress.insert(variant) {
            // The receiver is gone only when the service stops.
            _ = queue.requests.send(request);
        }
    }

    /// The pool and the requests for the task that runs the encodes; `None` if AVIF is off.
    pub(crate) fn take_requests(&self) -> Option<(&ThreadPool, UnboundedReceiver<AvifRequest>)> {
        let queue = self.queue.as_ref()?;
        Some((&queue.pool, queue.requested.lock().take()?))
    }

    pub(crate) fn count_encoded(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        self.encoded.fetch_add(1, Ordering::Relaxed);
    }

    /// Records how an encode ended.
    pub(crate) fn finish(&self, variant: Variant, outcome: &Result<(), Error>) {
        let settled = match outcome {
            Ok(()) => Some(AvifStatus::Encoded),
            // The queue was full, a store is unavailable, or the photo was deleted.
            Err(Error::Busy(_) | Error::Unavailable(..) | Error::NotFound(_)) => None,
            Err(error) => {
                let Variant { photo, size, .. } = variant;
                tracing::warn!(%photo, %size, %error, "AVIF not encoded; the image stays WebP and JPEG");
                self.failed.fetch_add(1, Ordering::Relaxed);
                Some(AvifStatus::Failed)
            }
        };
        let mut state = self.state.lock();
        if let Some(status) = settled {
            state.settled.insert(variant, status);
        }
        state.in_progress.remove(&variant);
    }
}
