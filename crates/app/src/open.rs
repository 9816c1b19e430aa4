//! Startup: locks the data folder, opens the stores and starts the thread pools.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use blobs::Location;
use model::Clock;

use crate::account_imports::IMPORT_UNITS;
use crate::app::AppInner;
use crate::avif_queue::AvifEncodes;
use crate::caches::Caches;
use crate::readiness::Readiness;
use crate::scheduler::{QueueLimits, Scheduler};
use crate::spooling::Spooling;
use crate::thread_pool::ThreadPool;
use crate::upload_hook::UploadHook;
use crate::{App, FairSemaphore, PermitLimits, Revocation, Settings, new_instance, passwords, variants};

/// The longest wait in a queue, far beyond a usual one.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Long reads that wait.
const LONG_READ_QUEUE: usize = 32;

/// AVIF images that wait to be encoded, and for how long. One that is dropped is queued again by the next
/// request for it.
const AVIF_QUEUE: usize = 256;
const AVIF_MAX_WAIT: Duration = Duration::from_secs(600);

/// Concurrent uploads. An upload whose body is still being read may lose its permit to a user with fewer.
const UPLOADS: PermitLimits =
    PermitLimits { max: 128, max_per_network: 128, max_per_user: 16, revocation: Revocation::LargerShares };

/// Concurrent downloads of exports: each keeps some chunks and a list of its photos in memory.
const EXPORTS: PermitLimits =
    PermitLimits { max: 8, max_per_network: 4, max_per_user: 1, revocation: Revocation::LargerShares };

/// The memory of concurrent imports, of four at most: for the lists of their files, which are their largest
/// part. Each occupies disk space up to `max_import`, too.
const IMPORTS: PermitLimits = PermitLimits {
    max: 4 * IMPORT_UNITS,
    max_per_network: 2 * IMPORT_UNITS,
    max_per_user: IMPORT_UNITS,
    revocation: Revocation::LargerShares,
};

pub const RESTORE_ADVICE: &str = "Stop the service, keep a copy of the data folder, and restore the last good backup \
     into a new one with `pinhole restore`.";

/// The reason why the service could not start. The messages tell the operator what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "cannot use the data folder {}: {cause}\n\
         {} or choose another folder with --data-dir or PINHOLE_DATA_DIR.",
        path.display(),
        remedy(cause)
    )]
    Folder { path: PathBuf, cause: io::Error },
    #[error(
        "another Pinhole is already running on the data folder {}\n\
         Stop it first, or give this one a folder of its own with --data-dir or PINHOLE_DATA_DIR.",
        path.display()
    )]
    Locked { path: PathBuf },
    #[error(transparent)]
    NewInstance(#[from] new_instance::SuspectedMistake),
    #[error("{0}\nInstall that version (or a later one) again, or point --{1} elsewhere.")]
    Newer(store::OpenError, &'static str),
    #[error("{0}\nMove it away, or point --{1} elsewhere.")]
    Foreign(store::OpenError, &'static str),
    #[error(
        "{0}\nCheck that PostgreSQL runs there, that its pg_hba.conf allows this client, and that PINHOLE_DATABASE_URL has the \
         right name and password."
    )]
    Server(store::OpenError),
    #[error("{0}\nPoint --data-dir, --database-url or their variables to an instance.")]
    Missing(store::OpenError),
    #[error("{0}\nStart the service of this version once, which brings it up to date.")]
    Older(store::OpenError),
    #[error("{}\n{}", .0, permission_advice())]
    Denied(store::OpenError),
    #[error("{}\n`pinhole doctor` lists the damage. {}", .0, RESTORE_ADVICE)]
    Damaged(store::OpenError),
    #[error("{0}\nCheck that the disk is healthy and not full, and that this user may write to the file.")]
    Store(store::OpenError),
    #[error("{0}\nCheck that the disk is healthy and not full, and that this user may write there.")]
    Blobs(#[from] blobs::Error),
    #[error("cannot use {url} for photos: {cause}{}", bucket_remedy(cause))]
    Bucket { url: blobs::BucketUrl, cause: blobs::Error },
    #[error("cannot prepare the upload hook: {0}\nCheck upload_hook.")]
    UploadHook(String),
    #[error("cannot prepare password hashing: {0}")]
    Passwords(crate::Error),
}

impl OpenError {
    pub fn from_store(error: store::OpenError, database: &store::Database) -> Self {
        let flag = match database {
            store::Database::File(_) => "data-dir",
            store::Database::Server { .. } => "database-url",
        };
        match error {
            store::OpenError::Newer { .. } => Self::Newer(error, flag),
            store::OpenError::Foreign { .. } => Self::Foreign(error, flag),
            store::OpenError::Missing { .. } => Self::Missing(error),
            store::OpenError::Older { .. } => Self::Older(error),
            store::OpenError::Server { .. } => Self::Server(error),
            store::OpenError::Denied { .. } => Self::Denied(error),
            store::OpenError::Damaged { .. } => Self::Damaged(error),
            store::OpenError::Open { .. } | store::OpenError::Thread(_) => Self::Store(error),
        }
    }
}

impl App {
    /// For memos of what is made from values of the app.
    pub fn revisions(&self) -> &Arc<store::Revisions> {
        self.0.store.revisions()
    }

    /// Calls `listener` with every notice. It runs on the writer or the read barrier, so it must be quick.
    pub fn on_notice(&self, listener: impl Fn(&store::Notice) + Send + Sync + 'static) {
        self.0.store.revisions().on_notice(listener);
    }

    /// A request waits for this before it reads from a cache: then all caches reflect every write that was
    /// acknowledged before, on any node.
    pub async fn read_barrier(&self) -> Result<(), crate::Error> {
        Ok(self.0.store.read_barrier().await?)
    }

    /// Opens the service on its data folder, which is created if missing. Blocks on file I/O, so it must not
    /// run on a thread of the runtime.
    pub async fn open(settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let database = settings.database();
        if !settings.init {
            new_instance::check_folder(&settings.data_dir, &database)?;
        }
        let lock = lock_folder(&settings.data_dir)?;
        let store = store::Store::open(&database, settings.read_connections).await;
        let store = store.map_err(|error| OpenError::from_store(error, &database))?;
        let blobs = open_blobs(&settings).await?;
        new_instance::check_rows(&settings, &store, &blobs).await?;
        let Settings { data_dir, cache_disk, cache_min_free, .. } = &settings;
        let cache = blobs::Cache::open(data_dir, *cache_disk, *cache_min_free, imaging::REVISION)?;
        let disk_space = parking_lot::Mutex::new(blobs::DiskSpace::of(data_dir)?);
        let pixels = Scheduler::new(settings.pixel_memory);
        let pixel_pool = |name, slots, max_memory| {
            let max_waiting = settings.pixel_queue;
            let limits = QueueLimits {
                name,
                slots,
                extra_slots: slots,
                max_waiting,
                max_wait: MAX_WAIT,
                max_memory,
                is_background: false,
            };
            ThreadPool::new(pixels.add_queue(limits), Some(settings.decode_time))
        };
        // A render waits for its master in its slot, which takes a bucket as long as the render.
        let render_slots = match settings.photos {
            Location::DataFolder => settings.pixel_threads,
            Location::Bucket { .. } => 2 * settings.pixel_threads,
        };
        let hashes = Scheduler::new(0).add_queue(QueueLimits {
            name: "hash",
            slots: settings.hash_threads,
            // A hash is short, so a network waits for that of another.
            extra_slots: 0,
            max_waiting: settings.hash_queue,
            max_wait: MAX_WAIT,
            max_memory: 0,
            is_background: false,
        });
        let long_reads = Scheduler::new(0).add_queue(QueueLimits {
            name: "long_read",
            slots: 1,
            extra_slots: 0,
            max_waiting: LONG_READ_QUEUE,
            max_wait: MAX_WAIT,
            max_memory: 0,
            is_background: false,
        });
        // Without the disk cache, an image would be encoded again each time that it leaves the memory cache.
        let is_avif_on = settings.avif && settings.cache_disk > 0;
        let avif_pool = is_avif_on.then(|| {
            ThreadPool::background(pixels.add_queue(QueueLimits {
                name: "avif",
                slots: (settings.pixel_threads / 4).max(1),
                extra_slots: 0,
                max_waiting: AVIF_QUEUE,
                max_wait: AVIF_MAX_WAIT,
                max_memory: settings.pixel_memory / 2,
                is_background: true,
            }))
        });
        let hook = settings.upload_hook.clone().map(UploadHook::new).transpose();
        let upload_hook = hook.map_err(|cause| OpenError::UploadHook(cause.to_string()))?;
        let inner = AppInner {
            readiness: Readiness::default(),
            long_reads,
            upload_hook,
            opened_at: clock.now(),
            clock,
            caches: Caches::new(store.revisions()),
            variants: variants::Variants::new(store.revisions(), settings.image_cache),
            store,
            blobs,
            cache,
            disk_space,
            passwords: passwords::Passwords::new(ThreadPool::new(hashes, None))
                .map_err(OpenError::Passwords)?,
            // Two pools, so that a flood of uploads does not delay renders; a quarter of the memory is for
            // renders alone.
            ingest: pixel_pool("ingest", settings.pixel_threads, settings.pixel_memory / 4 * 3),
            render: pixel_pool("render", render_slots, settings.pixel_memory),
            avif: AvifEncodes::new(avif_pool),
            uploads: FairSemaphore::new(UPLOADS),
            exports: FairSemaphore::new(EXPORTS),
            imports: FairSemaphore::new(IMPORTS),
            renders: AtomicU64::new(0),
            rebuilt_files: AtomicU64::new(0),
            rebuilds: tokio::sync::Mutex::default(),
            like_counts: parking_lot::Mutex::default(),
            spooling: Spooling::default(),
            deletions: tokio::sync::Notify::new(),
            totals: tokio::sync::Mutex::default(),
            settings,
            _lock: lock,
        };
        Ok(Self(Arc::new(inner)))
    }
}

/// Pings a bucket, so that a wrong configuration fails the start and not every upload.
async fn open_blobs(settings: &Settings) -> Result<blobs::Blobs, OpenError> {
    let failed = |cause| match &settings.photos {
        Location::DataFolder => OpenError::Blobs(cause),
        Location::Bucket { .. } if matches!(cause, blobs::Error::Io { .. }) => OpenError::Blobs(cause),
        Location::Bucket { url, .. } => OpenError::Bucket { url: url.clone(), cause },
    };
    let blobs = blobs::Blobs::open(&settings.data_dir, &settings.photos).map_err(failed)?;
    if matches!(settings.photos, Location::Bucket { .. }) {
        blobs.ping().await.map_err(failed)?;
    }
    Ok(blobs)
}

/// Names the effective user, since running as the wrong one is the usual cause.
pub fn permission_advice() -> String {
    let user = rustix::process::geteuid().as_raw();
    format!(
        "This runs as the user {user}: run it as the user of the service (sudo -u …), or give this one the right to \
         the folder."
    )
}

fn bucket_remedy(cause: &blobs::Error) -> String {
    match cause {
        blobs::Error::Unavailable(error) => format!("\n{}", error.remedy()),
        // The message contains the remedy.
        blobs::Error::S3Config(_) => String::new(),
        _ => "\nCheck that no proxy between this machine and the store alters requests or responses.".into(),
    }
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => "A file is in the way: move it,",
        io::ErrorKind::StorageFull => "The disk is full: free some space,",
        io::ErrorKind::PermissionDenied => "Give this user the right to write there,",
        _ => "Check that this user can create and write files there,",
    }
}

/// Creates the folder with mode 0700: it contains password hashes and sessions.
fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // A new folder is durable after a sync of its parent.
    match path.canonicalize()?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Locks the data folder, which is created if missing.
pub fn lock_folder(path: &Path) -> Result<File, OpenError> {
    let folder = |cause| OpenError::Folder { path: path.to_owned(), cause };
    create_private_folder(path).map_err(folder)?;
    let lock = File::create(path.join("lock")).map_err(folder)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(cause)) => Err(folder(cause)),
    }
}
