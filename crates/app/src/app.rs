//! The service's parts, behind one handle. Its use cases are in the files of their nouns.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::{Clock, Timestamp, UserId};
use tokio::sync::Mutex;

use crate::caches::Caches;
use crate::crowd::Crowd;
use crate::passwords::Passwords;
use crate::settings::Settings;
use crate::variants::Variants;
use crate::workers::{Budget, Workers};

/// The service. Cheap to clone; every clone is the same service.
#[derive(Debug, Clone)]
pub struct App(pub(crate) Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) opened_at: Timestamp,
    pub(crate) store: store::Store,
    pub(crate) caches: Arc<Caches>,
    pub(crate) blobs: blobs::Blobs,
    /// Rendered images on the disk, below those in memory.
    pub(crate) cache: blobs::Cache,
    pub(crate) passwords: Passwords,
    pub(crate) ingest: Workers,
    pub(crate) render: Workers,
    pub(crate) pixel_memory: Budget,
    pub(crate) uploads: Arc<Crowd<UserId>>,
    pub(crate) variants: Variants,
    /// How many images were rendered.
    pub(crate) renders: AtomicU64,
    /// The last count of all photos, and when it was taken.
    pub(crate) totals: Mutex<Option<(Timestamp, store::Totals)>>,
    /// Locks the data folder: no two processes share it.
    pub(crate) _lock: File,
}
