//! What an operator may decide about the use cases.

use std::path::PathBuf;
use std::time::Duration;

use blobs::Location;
use model::Username;
use store::{Database, DatabaseUrl};

#[derive(Debug, Clone)]
pub struct Settings {
    pub data_dir: PathBuf,
    /// Where photos are kept.
    pub photos: Location,
    /// Where facts are kept; in the data folder without it.
    pub database_url: Option<DatabaseUrl>,
    /// A replica of it that may answer reads.
    pub database_read_url: Option<DatabaseUrl>,
    /// Who may delete anyone's posts.
    pub admins: Vec<Username>,
    /// Whether uploads are kept beside their squares, without their metadata.
    pub keep_originals: bool,
    pub max_upload: u64,
    pub max_pixels: u64,
    pub min_password: usize,
    /// A session ends when it has not been used for so long.
    pub session_idle: Duration,
    pub read_connections: usize,
    pub hash_threads: usize,
    pub hash_queue: usize,
    pub pixel_threads: usize,
    pub pixel_queue: usize,
    /// What all pictures being decoded or drawn may take together.
    pub pixel_memory: u64,
    /// How long a picture may take to be decoded or drawn.
    pub decode_time: Duration,
    /// What finished images may take in memory.
    pub image_cache: u64,
    /// What finished images may take on the disk.
    pub cache_disk: u64,
}

impl Settings {
    pub const MAX_PASSWORD: usize = 256;

    /// How long a retried upload is recognised by its key.
    pub const KEY_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

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
