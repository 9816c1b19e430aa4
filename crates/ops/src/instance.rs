//! An instance as operator tools open it: its database and its blob store, without the HTTP service.

use std::fs::File;
use std::path::PathBuf;

use app::{OpenError, lock_folder};
use blobs::{Blobs, Location};
use store::{Database, DatabaseUrl, Store};
use tempfile::TempDir;

use crate::location::{InstanceLocation, StorageLocation};

#[derive(Debug)]
pub struct Instance {
    pub(crate) store: Store,
    pub(crate) blobs: Blobs,
    pub(crate) location: InstanceLocation,
    /// File locks, released on drop: while they are held, no service starts on these folders.
    _locks: Vec<File>,
    _staging: Option<TempDir>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    Read,
    Write,
}

impl Instance {
    // These block the calling task on file I/O, which is harmless in a tool that runs nothing else.

    /// Opens for reading, while a service may be running. Nothing is created, upgraded or locked.
    pub async fn open_read_only(location: &InstanceLocation) -> Result<Self, OpenError> {
        Self::open(location, OpenMode::Read, OpenMode::Read, Vec::new()).await
    }

    /// Opens read-only and locks the folders, so that no service runs on them. A database server or a bucket
    /// cannot be locked: there the operator has to stop every node.
    pub async fn lock(location: &InstanceLocation) -> Result<Self, OpenError> {
        // Opened first: locking a folder creates it.
        let instance = Self::open_read_only(location).await?;
        Ok(Self { _locks: lock_folders(location.folders())?, ..instance })
    }

    /// Locks the folders and opens for writing. A missing database or folder is created.
    pub async fn open_exclusive(location: &InstanceLocation) -> Result<Self, OpenError> {
        let locks = lock_folders(location.folders())?;
        Self::open(location, OpenMode::Write, OpenMode::Write, locks).await
    }

    /// Like `open_exclusive`, for the destination of a migration: a database or blob store that it shares
    /// with `other` is opened read-only.
    pub async fn open_exclusive_beside(
        location: &InstanceLocation,
        other: &InstanceLocation,
    ) -> Result<Self, OpenError> {
        let mode = |is_shared| if is_shared { OpenMode::Read } else { OpenMode::Write };
        let database = mode(location.database.is_same(&other.database));
        let blobs = mode(location.blobs.is_same(&other.blobs));
        let folders = [(location.database.path(), database), (location.blobs.path(), blobs)].into_iter();
        let written = folders.filter(|(_, mode)| *mode == OpenMode::Write).filter_map(|(folder, _)| folder);
        let mut folders: Vec<&PathBuf> = written.collect();
        folders.dedup();
        Self::open(location, database, blobs, lock_folders(folders)?).await
    }

    async fn open(
        location: &InstanceLocation,
        database: OpenMode,
        blobs: OpenMode,
        locks: Vec<File>,
    ) -> Result<Self, OpenError> {
        let store = open_store(&location.database, database).await?;
        let (blobs, staging) = open_blobs(location, blobs).await?;
        Ok(Self { store, blobs, location: location.clone(), _locks: locks, _staging: staging })
    }

    pub fn location(&self) -> &InstanceLocation {
        &self.location
    }
}

fn lock_folders(folders: Vec<&PathBuf>) -> Result<Vec<File>, OpenError> {
    folders.into_iter().map(|folder| lock_folder(folder)).collect()
}

async fn open_store(location: &StorageLocation<DatabaseUrl>, mode: OpenMode) -> Result<Store, OpenError> {
    let database = match location {
        StorageLocation::Folder(path) => Database::File(path.join("pinhole.db")),
        // Without the replica, which may lag.
        StorageLocation::Url(url) => Database::Server { primary: url.clone(), replica: None },
    };
    let opened = match mode {
        OpenMode::Read => Store::open_read_only(&database).await,
        OpenMode::Write => Store::open(&database, 1).await,
    };
    opened.map_err(|error| OpenError::from_store(error, &database))
}

/// A bucket is pinged before it is written to. The temporary folder is for staging, which a bucket needs too.
async fn open_blobs(
    location: &InstanceLocation,
    mode: OpenMode,
) -> Result<(Blobs, Option<TempDir>), OpenError> {
    let url = match &location.blobs {
        StorageLocation::Folder(path) => {
            let opened = match mode {
                OpenMode::Read => Blobs::open_read_only(path, &Location::DataFolder),
                OpenMode::Write => Blobs::open(path, &Location::DataFolder),
            };
            return Ok((opened.map_err(OpenError::Blobs)?, None));
        }
        StorageLocation::Url(url) => url.clone(),
    };
    let failed = |cause| OpenError::Bucket { url: url.clone(), cause };
    let location = Location::Bucket { url: url.clone(), config: location.s3_config.clone() };
    let staging =
        tempfile::tempdir().map_err(|cause| OpenError::Folder { path: std::env::temp_dir(), cause })?;
    let blobs = match mode {
        OpenMode::Read => Blobs::open_read_only(staging.path(), &location).map_err(failed)?,
        OpenMode::Write => {
            let blobs = Blobs::open(staging.path(), &location).map_err(failed)?;
            blobs.ping().await.map_err(failed)?;
            blobs
        }
    };
    Ok((blobs, Some(staging)))
}
