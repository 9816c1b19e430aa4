//! Eviction: the cache stays within its size and leaves disk space free.

use std::fs;
use std::io;

use model::PhotoId;

use super::index::{Eviction, Index};
use super::{Shared, file_name, remove_file};
use crate::{DiskSpace, Error};

impl Shared {
    /// The size that the cache may have now: its maximum, or less where that would not leave enough free.
    pub(super) fn limit(&self, index: &Index) -> Result<u64, Error> {
        let disk = DiskSpace::of(&self.folder)?;
        let available = index.bytes().saturating_add(disk.free).saturating_sub(self.min_free.on(disk));
        Ok(self.max_bytes.min(available))
    }

    pub(super) fn shrink(&self) -> Result<(), Error> {
        let limit = self.limit(&self.index())?;
        self.evict_down_to(limit)
    }

    /// Locks the index for one image at a time, so that a request does not wait for all evictions.
    pub(super) fn evict_down_to(&self, limit: u64) -> Result<(), Error> {
        loop {
            let mut index = self.index();
            let Some(eviction) = index.least_recently_used(0, limit) else { return Ok(()) };
            self.evict(&mut index, eviction)?;
        }
    }

    /// A file that cannot be deleted stays in the index, so that the limit holds.
    pub(super) fn evict(&self, index: &mut Index, eviction: Eviction) -> Result<(), Error> {
        let name = file_name(eviction.size, &eviction.format, self.revision);
        remove_file(&self.path(eviction.photo, &name))?;
        if index.remove(eviction.photo, eviction.size, &eviction.format).was_last_of_photo {
            self.remove_folder(eviction.photo)?;
        }
        self.counters.evict();
        self.update_gauges(index);
        Ok(())
    }

    /// Removes the folder of a photo if it is empty.
    pub(super) fn remove_folder(&self, photo: PhotoId) -> Result<(), Error> {
        let folder = self.photo_folder(photo);
        match fs::remove_dir(&folder) {
            Err(error)
                if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) =>
            {
                Err(Error::at(&folder)(error))
            }
            _ => Ok(()),
        }
    }
}
