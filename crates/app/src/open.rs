//! Starting up: the data folder, its lock, and everything that lives in it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use blobs::Location;
use model::Clock;

use crate::app::Parts;
use crate::caches::Caches;
use crate::workers::{Budget, Workers};
use crate::{App, Crowd, Settings, passwords, variants};

/// Uploads under way at once, in all and by one person: what has arrived of them waits on the disk.
const MAX_UPLOADS: usize = 128;
const MAX_UPLOADS_EACH: usize = 16;

/// How long a picture waits for memory. Much longer than it takes when all is well: what is given up keeps
/// its memory, and whoever waits for that should hear of it.
const MEMORY_PATIENCE: Duration = Duration::from_secs(60);

pub const RESTORE_ADVICE: &str =
    "Stop the service, keep a copy of the data folder, and restore the last good backup.";

/// Why the service could not start, in words that say what to do.
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
    #[error("{0}\nInstall that version (or a later one) again, or point --{1} elsewhere.")]
    Newer(store::OpenError, &'static str),
    #[error("{0}\nMove it away, or point --{1} elsewhere.")]
    Foreign(store::OpenError, &'static str),
    #[error(
        "{0}\nSee that PostgreSQL runs there, that its pg_hba.conf lets us in, and that PINHOLE_DATABASE_URL has the \
         right name and password."
    )]
    Server(store::OpenError),
    #[error("{0}\nPoint --data-dir, --database-url or their variables to an instance.")]
    Missing(store::OpenError),
    #[error("{0}\nStart the service of this version once, which brings it up to date.")]
    Older(store::OpenError),
    #[error("{}\n{}", .0, permission_advice())]
    Denied(store::OpenError),
    #[error("{}\n{}", .0, RESTORE_ADVICE)]
    Damaged(store::OpenError),
    #[error("{0}\nSee that the disk is healthy and not full, and that this user may write to the file.")]
    Store(store::OpenError),
    #[error("{0}\nSee that the disk is healthy and not full, and that this user may write there.")]
    Blobs(#[from] blobs::Error),
    #[error("cannot use {url} for photos: {cause}{}", remedy_at(cause))]
    Bucket { url: blobs::BucketUrl, cause: blobs::Error },
    #[error("cannot start worker threads: {0}")]
    Threads(io::Error),
    #[error("cannot prepare password hashing: {0}")]
    Passwords(crate::Error),
}

impl OpenError {
    pub fn of(error: store::OpenError, database: &store::Database) -> Self {
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
    /// Calls `subscriber` with the changes of every commit of this process, before the commit is
    /// acknowledged. It must be quick: the writer waits for it.
    pub fn subscribe(&self, subscriber: impl Fn(&[store::Change]) + Send + Sync + 'static) {
        self.0.caches.subscribe(subscriber);
    }

    /// Whether subscribers hear of every change. Other nodes that write to the same database publish nothing
    /// here.
    pub fn has_exact_caches(&self) -> bool {
        !self.0.store.is_shared()
    }

    /// Opens the service on its data folder, which is made when missing. Works on files as well as with a
    /// network, so it is for a thread that may be blocked.
    pub async fn open(settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        let lock = lock_folder(&settings.data_dir)?;
        let database = settings.database();
        let caches = Arc::new(match database {
            store::Database::File(_) => Caches::new(),
            store::Database::Server { .. } => Caches::of_shared_database(),
        });
        let published = caches.clone();
        let listener = Box::new(move |changes: &[store::Change]| published.invalidate(changes));
        let store = store::Store::open(&database, settings.read_connections, listener).await;
        let store = store.map_err(|error| OpenError::of(error, &database))?;
        let blobs = open_blobs(&settings).await?;
        let cache = blobs::Cache::open(&settings.data_dir, settings.cache_disk, imaging::REVISION)?;
        let workers = |name, threads, queue, limit| {
            Workers::start(name, threads, queue, limit).map_err(OpenError::Threads)
        };
        let pixels =
            |name| workers(name, settings.pixel_threads, settings.pixel_queue, Some(settings.decode_time));
        let parts = Parts {
            opened_at: clock.now(),
            clock,
            store,
            caches,
            variants: variants::Variants::new(settings.image_cache, blobs.staging().to_owned()),
            blobs,
            cache,
            passwords: passwords::Passwords::start(workers(
                "hash",
                settings.hash_threads,
                settings.hash_queue,
                None,
            )?)
            .map_err(OpenError::Passwords)?,
            // Two pools, so that a flood of uploads cannot keep readers from their pictures.
            ingest: pixels("ingest")?,
            render: pixels("render")?,
            pixel_memory: Budget::new(settings.pixel_memory, MEMORY_PATIENCE),
            uploads: Crowd::new(MAX_UPLOADS, MAX_UPLOADS_EACH),
            renders: AtomicU64::new(0),
            totals: tokio::sync::Mutex::default(),
            settings,
            _lock: lock,
        };
        Ok(Self(Arc::new(parts)))
    }
}

/// A bucket is tried out: better no start than a service that cannot take or show a photo.
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

/// Who runs this is told: it is seldom who they think.
pub fn permission_advice() -> String {
    let user = rustix::process::geteuid().as_raw();
    format!(
        "This runs as the user {user}: run it as the user of the service (sudo -u …), or give this one the right to \
         the folder."
    )
}

fn remedy_at(cause: &blobs::Error) -> String {
    match cause {
        blobs::Error::Unavailable(trouble) => format!("\n{}", trouble.remedy()),
        // Says so itself.
        blobs::Error::Account(_) => String::new(),
        _ => "\nSee that nothing on the way to the store alters what is sent.".into(),
    }
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => "A file is in the way: move it,",
        io::ErrorKind::StorageFull => "The disk is full: make room,",
        io::ErrorKind::PermissionDenied => "Give this user the right to write there,",
        _ => "See that this user can make and write files there,",
    }
}

/// Makes the folder for this user's eyes only: it holds password hashes and other people's sessions.
fn make_private(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // The folder is durable when the one above it is.
    match path.canonicalize()?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// The folder is made when missing.
pub fn lock_folder(path: &Path) -> Result<File, OpenError> {
    let folder = |cause| OpenError::Folder { path: path.to_owned(), cause };
    make_private(path).map_err(folder)?;
    let lock = File::create(path.join("lock")).map_err(folder)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(cause)) => Err(folder(cause)),
    }
}
