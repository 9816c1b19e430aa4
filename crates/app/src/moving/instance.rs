//! An instance as the tools of its operator see it: its database and its bytes, without the service around them.

use std::fs::File;
use std::path::{Path, PathBuf};

use blobs::Blobs;
use store::Store;

use super::places::{Place, Places};
use crate::OpenError;
use crate::open::lock_folder;

#[derive(Debug)]
pub struct Instance {
    pub(crate) store: Store,
    pub(crate) blobs: Blobs,
    pub(crate) places: Places,
    /// Held as long as we live: no service runs on these folders meanwhile.
    _locks: Vec<File>,
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
        let own = |place: &Place, others: &Place| if place.is(others) { Access::Read } else { Access::Write };
        let database = own(&places.database, &other.database);
        let blobs = own(&places.blobs, &other.blobs);
        let written = [(&places.database, database), (&places.blobs, blobs)].into_iter();
        let written = written.filter(|(_, access)| *access == Access::Write).filter_map(|(place, _)| place.path());
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
        Ok(Self {
            store: open_store(&places.database, database).await?,
            blobs: open_blobs(&places.blobs, blobs)?,
            places: places.clone(),
            _locks: locks,
        })
    }

    pub fn places(&self) -> &Places {
        &self.places
    }
}

fn lock(folders: Vec<&PathBuf>) -> Result<Vec<File>, OpenError> {
    folders.into_iter().map(|folder| lock_folder(folder)).collect()
}

async fn open_store(place: &Place, access: Access) -> Result<Store, OpenError> {
    let folder = local(place)?;
    let path = folder.join("pinhole.db");
    let opened = match access {
        Access::Read => Store::open_to_read(&path),
        Access::Write => Store::open(&path, 1, Box::new(|_| {})),
    };
    Ok(opened?)
}

fn open_blobs(place: &Place, access: Access) -> Result<Blobs, OpenError> {
    let folder = local(place)?;
    match access {
        Access::Read => Ok(Blobs::open_to_read(folder)),
        Access::Write => Ok(Blobs::open(folder)?),
    }
}

fn local(place: &Place) -> Result<&Path, OpenError> {
    match place {
        Place::Folder(path) => Ok(path),
        Place::Address(_) => Err(OpenError::Elsewhere { place: place.clone() }),
    }
}
