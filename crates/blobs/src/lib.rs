//! Where bytes live: the squares of each photo, what was uploaded, uploads on their way in, and finished
//! images.
//!
//! Photos are kept in a local folder or in a bucket of an S3 store; uploads on their way in and finished
//! images always lie on the local disk. A photo's files are published together and never change afterwards.
//! What [`Blobs::put`] has acknowledged survives a power cut.

mod blocking;
mod bucket;
mod cache;
mod checksum;
mod error;
mod folder;
mod names;
mod part;
mod spool;
mod staging;
mod stored;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::PhotoId;

pub use bucket::{Account, BucketUrl, Trouble};
pub use cache::{Cache, Key, Place};
pub use error::Error;
pub use part::{Kept, Part, Square, UnknownPart};
pub use spool::{Spool, Spooled};
pub use stored::Stored;

use blocking::blocking;
use bucket::Bucket;
use folder::Folder;
use staging::Staging;

/// Where photos are to be kept.
#[derive(Debug, Clone)]
pub enum Location {
    /// In the data folder.
    DataFolder,
    Bucket {
        url: BucketUrl,
        account: Account,
    },
}

#[derive(Debug, Clone)]
pub struct Blobs {
    staging: Arc<Staging>,
    home: Home,
}

#[derive(Debug, Clone)]
enum Home {
    Folder(Arc<Folder>),
    Bucket(Arc<Bucket>),
}

impl Blobs {
    /// Opens the blob store and clears away what a crash left half written inside `data_dir`. A bucket is not
    /// asked anything yet: [`Blobs::ping`] does that.
    pub fn open(data_dir: &Path, location: &Location) -> Result<Self, Error> {
        let staging = Arc::new(Staging::open(data_dir)?);
        let home = match location {
            Location::DataFolder => Home::Folder(Arc::new(Folder::open(data_dir, staging.clone())?)),
            Location::Bucket { url, account } => Home::Bucket(Arc::new(Bucket::open(url, account)?)),
        };
        Ok(Self { staging, home })
    }

    /// Opens the blob store to look at it, beside a service that may be writing to it. Nothing is made or
    /// cleared away.
    pub fn open_to_read(data_dir: &Path, location: &Location) -> Result<Self, Error> {
        let staging = Arc::new(Staging::at(data_dir));
        let home = match location {
            Location::DataFolder => Home::Folder(Arc::new(Folder::at(data_dir, staging.clone()))),
            Location::Bucket { url, account } => Home::Bucket(Arc::new(Bucket::open(url, account)?)),
        };
        Ok(Self { staging, home })
    }

    /// A folder for files that do not last: it is emptied at every start.
    pub fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// A place on the disk for an upload to arrive in.
    pub async fn spool(&self) -> Result<Spool, Error> {
        let staging = self.staging.clone();
        blocking(move || Spool::create(staging.path())).await
    }

    /// Stores all squares of a photo and, if given, what was uploaded, durably. In a folder they appear all
    /// at once, in a bucket one by one: a photo is there when this has returned `Ok`, not before.
    pub async fn put(
        &self,
        photo: PhotoId,
        squares: Vec<Square>,
        original: Option<Bytes>,
    ) -> Result<(), Error> {
        match &self.home {
            Home::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.put(photo, &squares, original.as_deref())).await
            }
            Home::Bucket(bucket) => bucket.put(photo, squares, original).await,
        }
    }

    /// A square as it lies there, not read yet.
    pub async fn square(&self, photo: PhotoId, side: u32) -> Result<Option<Stored>, Error> {
        match &self.home {
            Home::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.square(photo, side)).await
            }
            Home::Bucket(bucket) => Ok(bucket.square(photo, side).await?.map(Stored::object)),
        }
    }

    /// Every file of a photo with all its bytes; none where nothing is kept of it. A photo that is deleted
    /// meanwhile may come in pieces: whoever asks knows which files it should have.
    pub async fn files(&self, photo: PhotoId) -> Result<Vec<(Part, Bytes)>, Error> {
        match &self.home {
            Home::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.files(photo)).await
            }
            Home::Bucket(bucket) => bucket.files(photo).await,
        }
    }

    /// What is kept on one of 256 shelves: the photos whose ids end with this byte. For those who examine or
    /// move everything; nobody else has to search.
    pub async fn shelf(&self, last_byte: u8) -> Result<Vec<Kept>, Error> {
        match &self.home {
            Home::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.shelf(last_byte)).await
            }
            Home::Bucket(bucket) => bucket.shelf(last_byte).await,
        }
    }

    /// Removes everything of a photo. Removing what is not there is fine.
    pub async fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        match &self.home {
            Home::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.delete(photo)).await
            }
            Home::Bucket(bucket) => bucket.delete(photo).await,
        }
    }

    /// Proves that bytes can be written and read back.
    pub async fn ping(&self) -> Result<(), Error> {
        let staging = self.staging.clone();
        blocking(move || staging.ping()).await?;
        match &self.home {
            Home::Folder(_) => Ok(()),
            Home::Bucket(bucket) => bucket.ping().await,
        }
    }

    /// How long after a [`Blobs::put`] that failed some of its bytes may still turn up: a store may finish
    /// what nobody waits for any more. Whoever removes them for good waits for that.
    pub fn stragglers(&self) -> Duration {
        match &self.home {
            Home::Folder(_) => Duration::ZERO,
            Home::Bucket(_) => bucket::STRAGGLERS,
        }
    }
}
