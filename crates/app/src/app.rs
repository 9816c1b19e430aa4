//! The handle of the service. Each use case is in the file of its entity.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::{Clock, Timestamp};
use tokio::sync::{Mutex, Notify};

use crate::avif_queue::AvifEncodes;
use crate::caches::Caches;
use crate::fair_semaphore::FairSemaphore;
use crate::like_counts::LikeCounts;
use crate::passwords::Passwords;
use crate::readiness::Readiness;
use crate::scheduler::FairQueue;
use crate::settings::Settings;
use crate::spooling::Spooling;
use crate::thread_pool::ThreadPool;
use crate::upload_hook::UploadHook;
use crate::variants::Variants;

/// A reference-counted handle: clones share the same service.
#[derive(Debug, Clone)]
pub struct App(pub(crate) Arc<AppInner>);

impl App {
    /// The time by the clock of the service.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}

#[derive(Debug)]
pub(crate) struct AppInner {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) opened_at: Timestamp,
    pub(crate) store: store::Store,
    pub(crate) caches: Caches,
    pub(crate) blobs: blobs::Blobs,
    /// The disk cache of rendered images, below the memory cache in `variants`.
    pub(crate) cache: blobs::Cache,
    /// The space of the data folder's disk, read once a second.
    pub(crate) disk_space: parking_lot::Mutex<blobs::DiskSpace>,
    pub(crate) passwords: Passwords,
    /// One slot, in which one long read after the other occupies the store.
    pub(crate) long_reads: FairQueue,
    pub(crate) ingest: ThreadPool,
    pub(crate) render: ThreadPool,
    pub(crate) avif: AvifEncodes,
    /// One permit per upload, since each occupies disk space in the staging folder.
    pub(crate) uploads: Arc<FairSemaphore>,
    /// One permit per download of an export.
    pub(crate) exports: Arc<FairSemaphore>,
    /// One permit per import, since its archive occupies disk space in the staging folder.
    pub(crate) imports: Arc<FairSemaphore>,
    pub(crate) readiness: Readiness,
    pub(crate) upload_hook: Option<UploadHook>,
    pub(crate) variants: Variants,
    /// The number of images rendered.
    pub(crate) renders: AtomicU64,
    /// The number of damaged or lost files that were rebuilt.
    pub(crate) rebuilt_files: AtomicU64,
    /// Held while the files of a photo are rebuilt.
    pub(crate) rebuilds: Mutex<()>,
    /// For the quota of likes.
    pub(crate) like_counts: parking_lot::Mutex<LikeCounts>,
    /// What arrives of uploads, for the quota of bytes.
    pub(crate) spooling: Spooling,
    /// Notified when an account is marked as deleted.
    pub(crate) deletions: Notify,
    /// The cached photo totals, and the time of the query.
    pub(crate) totals: Mutex<Option<(Timestamp, store::PhotoTotals)>>,
    /// The lock of the data folder, which excludes other processes.
    pub(crate) _lock: File,
}
