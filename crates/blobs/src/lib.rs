//! Where bytes live: the squares of each photo, what was uploaded, uploads on their way in, and finished images.
//!
//! A photo's files are published together and never change afterwards. What [`Blobs::put`] has
//! acknowledged survives a power cut.

mod cache;
mod error;
mod folder;
mod part;
mod spool;
mod stored;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use model::PhotoId;

pub use cache::{Cache, Key, Place, Usage};
pub use error::Error;
pub use part::{Kept, Part, UnknownPart};
pub use spool::{Spool, Spooled};
pub use stored::Stored;

use folder::Folder;

/// One kept square of a photo, by the length of its side.
#[derive(Debug, Clone)]
pub struct Square {
    pub side: u32,
    pub bytes: Bytes,
}

#[derive(Debug, Clone)]
pub struct Blobs {
    folder: Arc<Folder>,
}

impl Blobs {
    /// Opens the blob store inside `data_dir`, and clears away what a crash left half written.
    pub fn open(data_dir: &Path) -> Result<Self, Error> {
        Ok(Self { folder: Arc::new(Folder::open(data_dir)?) })
    }

    /// Opens the blob store inside `data_dir` to look at it, beside a service that may be writing to it. Nothing is
    /// made or cleared away.
    pub fn open_to_read(data_dir: &Path) -> Self {
        Self { folder: Arc::new(Folder::at(data_dir)) }
    }

    /// A place on the disk for an upload to arrive in.
    pub async fn spool(&self) -> Result<Spool, Error> {
        self.blocking(|folder| Spool::create(folder.tmp())).await
    }

    /// Stores all squares of a photo and, if given, what was uploaded, durably and all at once.
    pub async fn put(
        &self,
        photo: PhotoId,
        squares: Vec<Square>,
        original: Option<Bytes>,
    ) -> Result<(), Error> {
        self.blocking(move |folder| folder.put(photo, &squares, original.as_deref())).await
    }

    /// A square as it lies on the disk, not read yet.
    pub async fn square(&self, photo: PhotoId, side: u32) -> Result<Option<Stored>, Error> {
        self.blocking(move |folder| folder.square(photo, side)).await
    }

    /// Every file of a photo with all its bytes; none where nothing is kept of it. A photo that is deleted meanwhile
    /// may come in pieces: whoever asks knows which files it should have.
    pub async fn files(&self, photo: PhotoId) -> Result<Vec<(Part, Bytes)>, Error> {
        self.blocking(move |folder| folder.files(photo)).await
    }

    /// What is kept on one of 256 shelves: the photos whose ids end with this byte. For those who examine or move
    /// everything; nobody else has to search.
    pub async fn shelf(&self, last_byte: u8) -> Result<Vec<Kept>, Error> {
        self.blocking(move |folder| folder.shelf(last_byte)).await
    }

    /// Removes everything of a photo. Removing what is not there is fine.
    pub async fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        self.blocking(move |folder| folder.delete(photo)).await
    }

    /// Proves that bytes can be written and read back.
    pub async fn ping(&self) -> Result<(), Error> {
        self.blocking(Folder::ping).await
    }

    /// Files are touched on threads that may block, never on the runtime's own.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let folder = self.folder.clone();
        match tokio::task::spawn_blocking(move || work(&folder)).await {
            Ok(outcome) => outcome,
            Err(stopped) => Err(Error::Stopped(stopped.to_string())),
        }
    }
}
