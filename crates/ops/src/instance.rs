//! An instance as the tools of its operator see it: its database and its bytes, without the service around them.

use std::fs::File;
use std::path::PathBuf;

use app::{OpenError, lock_folder};
use blobs::{Blobs, Location};
use store::{Database, DatabaseUrl, Store};
use tempfile::TempDir;

use crate::places::{Place, Places};

#[derive(Debug)]
pub struct Instance {
    pub(crate) store: Store,
    pub(crate) blobs: Blobs,
    pub(crate) places: Places,
    /// Held as long as we live: no service runs on these folders meanwhile.
    _locks: Vec<File>,
    _staging: Option<TempDir>,
}

/// What somebody wants with an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Instance {
    // Files are opened right here: whoever opens an instance has nothing else to do.

    /// To look at, beside a service that may be running. Nothing is made, upgraded or locked.
    pub async fn look_at(places: &Places) -> Result<Self, OpenError> {
        Self::open(places, Access::Read, Access::Read, Vec::new()).await
    }

    /// The same while no service runs on it. An address elsewhere cannot be locked: there it is up to the operator.
    pub async fn hold(places: &Places) -> Result<Self, OpenError> {
        // Looked at first: locking a folder makes it.
        let instance = Self::look_at(places).await?;
        Ok(Self { _locks: lock(places.folders())?, ..instance })
    }

    /// To write to, while no service runs on it. It is made where it is missing.
    pub async fn take(places: &Places) -> Result<Self, OpenError> {
        let locks = lock(places.folders())?;
        Self::open(places, Access::Write, Access::Write, locks).await
    }

    /// The same for one to move to: what has its place in common with `other` is only looked at.
    pub async fn take_beside(places: &Places, other: &Places) -> Result<Self, OpenError> {
        let own = |is_shared| if is_shared { Access::Read } else { Access::Write };
        let database = own(places.database.is(&other.database));
        let blobs = own(places.blobs.is(&other.blobs));
        let folders = [(places.database.path(), database), (places.blobs.path(), blobs)].into_iter();
        let written = folders.filter(|(_, access)| *access == Access::Write).filter_map(|(folder, _)| folder);
        let mut folders: Vec<&PathBuf> = written.collect();
        folders.dedup();
        Self::open(places, database, blobs, lock(folders)?).await
    }

    async fn open(
        places: &Places,
        database: Access,
        blobs: Access,
        locks: Vec<File>,
    ) -> Result<Self, OpenError> {
        let store = open_store(&places.database, database).await?;
        let (blobs, staging) = open_blobs(places, blobs).await?;
        Ok(Self { store, blobs, places: places.clone(), _locks: locks, _staging: staging })
    }

    pub fn places(&self) -> &Places {
        &self.places
    }
}

fn lock(folders: Vec<&PathBuf>) -> Result<Vec<File>, OpenError> {
    folders.into_iter().map(|folder| lock_folder(folder)).collect()
}

async fn open_store(place: &Place<DatabaseUrl>, access: Access) -> Result<Store, OpenError> {
    let database = match place {
        Place::Folder(path) => Database::File(path.join("pinhole.db")),
        // What a replica says may be old.
        Place::Address(url) => Database::Server { primary: url.clone(), replica: None },
    };
    let opened = match access {
        Access::Read => Store::open_read_only(&database).await,
        Access::Write => Store::open(&database, 1, Box::new(|_| {})).await,
    };
    opened.map_err(|error| OpenError::of(error, &database))
}

/// A bucket is tried out before it is written to. What goes there needs no folder here, but the blob store wants one.
async fn open_blobs(places: &Places, access: Access) -> Result<(Blobs, Option<TempDir>), OpenError> {
    let url = match &places.blobs {
        Place::Folder(path) => {
            let opened = match access {
                Access::Read => Blobs::open_to_read(path, &Location::DataFolder),
                Access::Write => Blobs::open(path, &Location::DataFolder),
            };
            return Ok((opened.map_err(OpenError::Blobs)?, None));
        }
        Place::Address(url) => url.clone(),
    };
    let failed = |cause| OpenError::Bucket { url: url.clone(), cause };
    let location = Location::Bucket { url: url.clone(), account: places.account.clone() };
    let staging =
        tempfile::tempdir().map_err(|cause| OpenError::Folder { path: std::env::temp_dir(), cause })?;
    let blobs = match access {
        Access::Read => Blobs::open_to_read(staging.path(), &location).map_err(failed)?,
        Access::Write => {
            let blobs = Blobs::open(staging.path(), &location).map_err(failed)?;
            blobs.ping().await.map_err(failed)?;
            blobs
        }
    };
    Ok((blobs, Some(staging)))
}
