//! What the service does: its use cases, knowing neither HTTP nor SQL.

mod accounts;
mod caches;
mod chance;
mod crowd;
mod error;
mod feed;
mod hot;
mod invalidating_cache;
mod likes;
mod open;
mod passwords;
mod photos;
mod posts;
mod profile;
mod settings;
mod stats;
mod upkeep;
mod upload;
mod users;
mod variants;
mod workers;

pub use accounts::{Caller, Entrance};
pub use blobs::{Account, BucketUrl, Location, Spool, Spooled};
pub use caches::LikedSet;
pub use crowd::{Crowd, Inside};
pub use error::Error;
pub use hot::ImageFile;
pub use imaging::{InputFormat, OutputFormat, Removed};
pub use invalidating_cache::InvalidatingCache;
pub use open::{OpenError, RESTORE_ADVICE, lock_folder, permission_advice};
pub use photos::Picture;
pub use posts::{Draft, Posted};
pub use settings::Settings;
pub use stats::{Queue, Stats};
pub use store::{Change, DatabaseUrl};
pub use upload::Upload;
pub use variants::Image;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::{Clock, Timestamp, UserId};

/// The service. Cheap to clone; every clone is the same service.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    settings: Settings,
    clock: Clock,
    opened_at: Timestamp,
    store: store::Store,
    caches: Arc<caches::Caches>,
    blobs: blobs::Blobs,
    /// Finished images, below those in memory.
    cache: blobs::Cache,
    passwords: passwords::Passwords,
    ingest: workers::Workers,
    render: workers::Workers,
    pixel_memory: workers::Budget,
    uploads: Arc<Crowd<UserId>>,
    variants: variants::Variants,
    /// How many images were drawn.
    renders: AtomicU64,
    totals: stats::CachedTotals,
    /// Held as long as we live: no two processes share a data folder.
    _lock: File,
}

/// Runs to the end even if whoever asked for it goes away: a client that hangs up must not leave a
/// photo without its post, or bytes without their end.
async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(failed) => Err(Error::internal(failed)),
    }
}
