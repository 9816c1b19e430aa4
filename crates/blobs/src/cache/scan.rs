//! The scan at the start: indexes the images in the cache folder, and deletes all other files of a shard.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use model::{ImageSize, PhotoId};

use super::{Shared, index, micros, remove_file};
use crate::{Error, names};

impl Shared {
    /// Locks the index for one photo at a time, so that a request waits for the scan of one folder at most.
    pub(super) fn scan(&self) -> Result<(), Error> {
        remove_file(&self.staged())?;
        for shard in entries(&self.folder)? {
            // Foreign entries of the top folder, such as a disk's `lost+found`, are left alone.
            if !is_shard(&shard) {
                continue;
            }
            for photo in entries(&shard.path())? {
                if self.closing.load(Ordering::Relaxed) {
                    return Err(Error::Stopped("the service is closing".into()));
                }
                let id = name(&photo)
                    .parse()
                    .ok()
                    .filter(|id| self.max_bytes > 0 && names::shard(*id) == name(&shard));
                match id {
                    Some(id) => self.scan_photo(id, &photo.path())?,
                    None => delete(&photo)?,
                }
            }
        }
        self.shrink()
    }

    fn scan_photo(&self, photo: PhotoId, folder: &Path) -> Result<(), Error> {
        let mut index = self.index();
        let mut any = false;
        for file in entries(folder)? {
            let is_indexed = match self.parse_file_name(&name(&file)) {
                Some((size, format)) => {
                    let metadata = file.metadata().map_err(Error::at(&file.path()))?;
                    let last_use = micros(metadata.modified().map_err(Error::at(&file.path()))?);
                    let weight = index::weight(metadata.len());
                    metadata.is_file() && index.insert(photo, size, &format, weight, last_use)
                }
                None => false,
            };
            if !is_indexed {
                delete(&file)?;
            }
            any |= is_indexed;
        }
        self.update_gauges(&index);
        if any { Ok(()) } else { self.remove_folder(photo) }
    }

    /// Size and format, if the name is canonical and has the current revision.
    fn parse_file_name(&self, name: &str) -> Option<(ImageSize, String)> {
        let mut pieces = name.split('-');
        let size = pieces.next()?.parse().ok()?;
        let format = pieces.next()?.to_owned();
        (super::file_name(size, &format, self.revision) == name).then_some((size, format))
    }
}

/// The entries of a folder; empty if the folder is missing.
fn entries(folder: &Path) -> Result<Vec<DirEntry>, Error> {
    let read = || fs::read_dir(folder)?.collect();
    let read: io::Result<Vec<DirEntry>> = read();
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(Error::at(folder)),
    }
}

fn delete(entry: &DirEntry) -> Result<(), Error> {
    let path = entry.path();
    let is_folder = entry.file_type().map_err(Error::at(&path))?.is_dir();
    let deleted = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    match deleted {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(&path)(error)),
        _ => Ok(()),
    }
}

fn is_shard(entry: &DirEntry) -> bool {
    let name = name(entry);
    u8::from_str_radix(&name, 16).is_ok_and(|number| format!("{number:02x}") == name)
}

/// Empty if the name is not UTF-8: such a file is foreign.
fn name(entry: &DirEntry) -> String {
    entry.file_name().to_str().unwrap_or_default().to_owned()
}
