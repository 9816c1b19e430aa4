//! Counting what is there at the start. Whatever is not an image of ours goes.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use model::{PhotoId, Size};

use super::{Shared, index, micros, remove_file};
use crate::{Error, names};

impl Shared {
    /// One photo at a time under the lock, so that whoever comes meanwhile waits for one folder at most.
    pub(super) fn scan(&self) -> Result<(), Error> {
        remove_file(&self.staged())?;
        for shard in entries(&self.folder)? {
            // Whatever else is up here (a disk's lost+found, say) is not for us to remove.
            if !is_shard(&shard) {
                continue;
            }
            for photo in entries(&shard.path())? {
                if self.closing.load(Ordering::Relaxed) {
                    return Err(Error::Stopped("the service is closing".into()));
                }
                let id =
                    name(&photo).parse().ok().filter(|id| self.max > 0 && names::shard(*id) == name(&shard));
                match id {
                    Some(id) => self.count(id, &photo.path())?,
                    None => clear(&photo)?,
                }
            }
        }
        let mut index = self.index();
        while let Some(victim) = index.oldest_beyond(0) {
            self.evict(&mut index, victim)?;
        }
        Ok(())
    }

    fn count(&self, photo: PhotoId, folder: &Path) -> Result<(), Error> {
        let mut index = self.index();
        let mut any = false;
        for file in entries(folder)? {
            let counted = match self.image(&name(&file)) {
                Some((size, format)) => {
                    let about = file.metadata().map_err(Error::at(&file.path()))?;
                    let used = micros(about.modified().map_err(Error::at(&file.path()))?);
                    about.is_file() && index.insert(photo, size, &format, index::weight(about.len()), used)
                }
                None => false,
            };
            if !counted {
                clear(&file)?;
            }
            any |= counted;
        }
        self.note(&index);
        if any { Ok(()) } else { self.remove_folder(photo) }
    }

    /// Size and format, if the name is one we would give today.
    fn image(&self, name: &str) -> Option<(Size, String)> {
        let mut pieces = name.split('-');
        let size = Size::new(pieces.next()?.parse().ok()?).ok()?;
        let format = pieces.next()?.to_owned();
        (super::file_name(size, &format, self.revision) == name).then_some((size, format))
    }
}

/// What is in a folder; nothing if it is gone.
fn entries(folder: &Path) -> Result<Vec<DirEntry>, Error> {
    let read = || fs::read_dir(folder)?.collect();
    let read: io::Result<Vec<DirEntry>> = read();
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(Error::at(folder)),
    }
}

fn clear(entry: &DirEntry) -> Result<(), Error> {
    let path = entry.path();
    let is_folder = entry.file_type().map_err(Error::at(&path))?.is_dir();
    let cleared = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    match cleared {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(&path)(error)),
        _ => Ok(()),
    }
}

fn is_shard(entry: &DirEntry) -> bool {
    let name = name(entry);
    u8::from_str_radix(&name, 16).is_ok_and(|number| format!("{number:02x}") == name)
}

/// What is not text is no name of ours.
fn name(entry: &DirEntry) -> String {
    entry.file_name().to_str().unwrap_or_default().to_owned()
}
