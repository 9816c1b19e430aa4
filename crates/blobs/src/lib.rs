//! Blob storage: the files of each photo, the parts of resumable uploads, uploads in progress, and the disk
//! cache of rendered images.
//!
//! Photos are stored in a local folder or an S3 bucket; uploads in progress and rendered images are always on
//! the local disk. The files of a photo never change once written, and they survive a power failure once
//! [`Blobs::put`] has returned.

mod blob_reader;
mod blocking;
mod bucket;
mod cache;
mod checksum;
mod disk_space;
mod error;
mod folder;
mod names;
mod photo_file;
mod spool;
mod staging;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::PhotoId;

pub use blob_reader::{BlobReader, CHUNK};
pub use bucket::{BucketUrl, S3Config, S3Error, install_crypto_provider};
pub use cache::{Cache, CacheKey, PendingInsert};
pub use disk_space::{CacheMinFree, DiskSpace};
pub use error::Error;
pub use photo_file::{PhotoFile, PhotoFiles, StoredPhoto, UnknownPhotoFile};
pub use spool::{Spool, SpooledFile};

use blocking::blocking;
use bucket::Bucket;
use folder::Folder;
use staging::Staging;

/// The storage of photos.
#[derive(Debug, Clone)]
pub enum Location {
    DataFolder,
    Bucket { url: BucketUrl, config: S3Config },
}

#[derive(Debug, Clone)]
pub struct Blobs {
    staging: Arc<Staging>,
    backend: Backend,
}

#[derive(Debug, Clone)]
enum Backend {
    Folder(Arc<Folder>),
    Bucket(Arc<Bucket>),
}

impl Blobs {
    /// Opens the blob store, and deletes the partial writes of a crashed process from `data_dir`. No request
    /// is sent to a bucket: [`Blobs::ping`] does that.
    pub fn open(data_dir: &Path, location: &Location) -> Result<Self, Error> {
        let staging = Arc::new(Staging::open(data_dir)?);
        let backend = match location {
            Location::DataFolder => Backend::Folder(Arc::new(Folder::open(data_dir, staging.clone())?)),
            Location::Bucket { url, config } => Backend::Bucket(Arc::new(Bucket::open(url, config)?)),
        };
        Ok(Self { staging, backend })
    }

    /// Opens the blob store for reading, beside a service that may write to it. Nothing is created or
    /// deleted.
    pub fn open_read_only(data_dir: &Path, location: &Location) -> Result<Self, Error> {
        let staging = Arc::new(Staging::at(data_dir));
        let backend = match location {
            Location::DataFolder => Backend::Folder(Arc::new(Folder::at(data_dir, staging.clone()))),
            Location::Bucket { url, config } => Backend::Bucket(Arc::new(Bucket::open(url, config)?)),
        };
        Ok(Self { staging, backend })
    }

    /// The folder of temporary files, which is emptied at every start.
    pub fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// Creates the temporary file of an upload.
    pub async fn spool(&self) -> Result<Spool, Error> {
        let staging = self.staging.clone();
        blocking(move || Spool::create(staging.path())).await
    }

    /// Writes the files of a photo durably. A folder publishes them atomically, a bucket one by one: the
    /// photo is complete only when this has returned `Ok`. Derived files may be lost in a power failure.
    pub async fn put(&self, photo: PhotoId, files: Vec<(PhotoFile, Bytes)>) -> Result<(), Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.put(photo, &files)).await
            }
            Backend::Bucket(bucket) => bucket.put(photo, files).await,
        }
    }

    /// Writes a part of an upload durably, in the folder with the id of the upload.
    pub async fn put_part(&self, upload: PhotoId, start: u64, epoch: u64, bytes: Bytes) -> Result<(), Error> {
        let part = PhotoFile::Part { start, epoch };
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.put_part(upload, part, &bytes)).await
            }
            Backend::Bucket(bucket) => bucket.replace(upload, part, bytes).await,
        }
    }

    /// Deletes a part of an upload. Succeeds if there is none.
    pub async fn delete_part(&self, upload: PhotoId, start: u64, epoch: u64) -> Result<(), Error> {
        let part = PhotoFile::Part { start, epoch };
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.delete_part(upload, part)).await
            }
            Backend::Bucket(bucket) => bucket.delete_part(upload, part).await,
        }
    }

    /// Opens a file of a photo without reading it.
    pub async fn file(&self, photo: PhotoId, file: PhotoFile) -> Result<Option<BlobReader>, Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                Ok(blocking(move || folder.file(photo, file)).await?.map(BlobReader::file))
            }
            Backend::Bucket(bucket) => Ok(bucket.file(photo, file).await?.map(BlobReader::object)),
        }
    }

    /// Reads and verifies every file of a photo but derived ones; empty if there is none. A concurrent delete
    /// may make the result incomplete, so the caller compares it with the files that the photo's row implies.
    pub async fn files(&self, photo: PhotoId) -> Result<PhotoFiles, Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.files(photo)).await
            }
            Backend::Bucket(bucket) => bucket.files(photo).await,
        }
    }

    /// Writes one file of an existing photo durably, in place of a damaged or lost one. A delete of the photo
    /// may run at the same time, so the caller checks its row afterwards.
    pub async fn replace(&self, photo: PhotoId, file: PhotoFile, bytes: Bytes) -> Result<(), Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.replace(photo, file, &bytes)).await
            }
            Backend::Bucket(bucket) => bucket.replace(photo, file, bytes).await,
        }
    }

    /// Adds checksums to the `unverified` files of a photo. Objects of a bucket always have one.
    pub async fn add_checksums(
        &self,
        photo: PhotoId,
        unverified: Vec<(PhotoFile, Bytes)>,
    ) -> Result<(), Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.add_checksums(photo, &unverified)).await
            }
            Backend::Bucket(_) => Ok(()),
        }
    }

    /// Lists one of the 256 shards: the photos whose ids end with this byte. For checks and transfers of the
    /// whole instance; requests never list.
    pub async fn list_shard(&self, last_byte: u8) -> Result<Vec<StoredPhoto>, Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.list_shard(last_byte)).await
            }
            Backend::Bucket(bucket) => bucket.list_shard(last_byte).await,
        }
    }

    /// Whether there is any photo. Seldom needed: it lists.
    pub async fn has_photos(&self) -> Result<bool, Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.has_photos()).await
            }
            Backend::Bucket(bucket) => bucket.has_photos().await,
        }
    }

    /// Deletes all files of a photo. Succeeds if there are none.
    pub async fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        match &self.backend {
            Backend::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.delete(photo)).await
            }
            Backend::Bucket(bucket) => bucket.delete(photo).await,
        }
    }

    /// Writes a probe, reads it back and compares it.
    pub async fn ping(&self) -> Result<(), Error> {
        let staging = self.staging.clone();
        blocking(move || staging.ping()).await?;
        match &self.backend {
            Backend::Folder(_) => Ok(()),
            Backend::Bucket(bucket) => bucket.ping().await,
        }
    }

    /// How long after a failed [`Blobs::put`] its files may still appear: a store may complete a write after
    /// its client has timed out. A delete before that does not remove them.
    pub fn late_write_window(&self) -> Duration {
        match &self.backend {
            Backend::Folder(_) => Duration::ZERO,
            Backend::Bucket(_) => bucket::LATE_WRITE_WINDOW,
        }
    }
}
