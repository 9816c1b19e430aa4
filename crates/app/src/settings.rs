//! The settings of the use cases, from the server's configuration.

use std::path::PathBuf;
use std::time::Duration;

use blobs::{CacheMinFree, Location};
use model::Username;
use store::{Database, DatabaseUrl};

use crate::upload_hook::UploadHookSettings;

#[derive(Debug, Clone)]
pub struct Settings {
    pub data_dir: PathBuf,
    /// Whether to make a new instance even where that looks like a mistake.
    pub init: bool,
    /// The storage of photos.
    pub photos: Location,
    /// The PostgreSQL database; without it, an SQLite file in the data folder.
    pub database_url: Option<DatabaseUrl>,
    /// A replica of it for reads.
    pub database_read_url: Option<DatabaseUrl>,
    /// Users who are owners, whatever their role in the database.
    pub admins: Vec<Username>,
    /// Checks every upload before it is published.
    pub upload_hook: Option<UploadHookSettings>,
    /// Whether stripped uploads are stored beside their masters.
    pub keep_originals: bool,
    /// Whether images are encoded and served as AVIF.
    pub avif: bool,
    pub max_upload: u64,
    /// The largest archive that users may import, in bytes.
    pub max_import: u64,
    pub max_pixels: u64,
    /// The minimum length of a new password, in bytes.
    pub min_password: usize,
    /// Whether a new password may be one of the most common ones, or the username.
    pub common_passwords: bool,
    /// A session expires after this time without use.
    pub session_idle: Duration,
    pub read_connections: usize,
    pub hash_threads: usize,
    pub hash_queue: usize,
    pub pixel_threads: usize,
    pub pixel_queue: usize,
    /// The memory budget of all decodes and renders together, in bytes.
    pub pixel_memory: u64,
    /// The time limit of a decode or render.
    pub decode_time: Duration,
    /// The size of the memory cache of rendered images, in bytes.
    pub image_cache: u64,
    /// The size of the disk cache of rendered images, in bytes.
    pub cache_disk: u64,
    /// The disk space that the disk cache leaves free.
    pub cache_min_free: CacheMinFree,
    /// The free disk space below which uploads are rejected, in bytes.
    pub upload_min_free: u64,
}

impl Settings {
    pub const MAX_PASSWORD: usize = 256;

    /// A session expires after this time, even if it is used.
    pub const SESSION_AGE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// How long a code is valid with which the operator resets a password.
    pub const RESET_TTL: Duration = Duration::from_secs(24 * 60 * 60);

    /// How long the link for the first owner is valid.
    pub const OWNER_INVITATION_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// How long an idempotency key is recognised.
    pub const IDEMPOTENCY_KEY_TTL: Duration = Duration::from_secs(24 * 60 * 60);

    /// How long an unfinished upload is kept after the last of it arrived.
    pub const UPLOAD_TTL: Duration = Duration::from_secs(24 * 60 * 60);

    /// How long an unfinished upload is kept after its start, however often a piece of it arrives.
    pub const UPLOAD_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    pub(crate) fn database(&self) -> Database {
        match &self.database_url {
            Some(primary) => {
                Database::Server { primary: primary.clone(), replica: self.database_read_url.clone() }
            }
            None => Database::File(self.data_dir.join("pinhole.db")),
        }
    }

    pub(crate) fn is_admin(&self, username: &Username) -> bool {
        self.admins.iter().any(|admin| admin.key() == username.key())
    }

    pub(crate) fn image_limits(&self) -> imaging::Limits {
        imaging::Limits { max_pixels: self.max_pixels }
    }
}
