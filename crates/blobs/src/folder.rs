//! Blobs in a local folder.
//!
//! ```text
//! photos/6f/0190a6e2-…-6f/2048       one folder a photo, one file a square
//! photos/6f/0190a6e2-…-6f/original   what was uploaded, where that is kept
//! tmp/                               what is being written (`staging.rs`)
//! ```
//! A photo's folder is written under `tmp`, synced, renamed into place in one step, and the place it was
//! renamed into is synced: after that it is there, whole, whatever happens to the power.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use model::PhotoId;

use crate::names::{PHOTOS, shard, shard_of};
use crate::staging::Staging;
use crate::{Error, Kept, Part, Square, Stored};

#[derive(Debug)]
pub(crate) struct Folder {
    photos: PathBuf,
    staging: Arc<Staging>,
}

impl Folder {
    pub(crate) fn open(data_dir: &Path, staging: Arc<Staging>) -> Result<Self, Error> {
        let folder = Self::at(data_dir, staging);
        make_folder(&folder.photos)?;
        // All shards from the start: an upload then never has to make one, and sync it, on its way.
        for last_byte in 0..=u8::MAX {
            make_folder(&folder.photos.join(shard_of(last_byte)))?;
        }
        sync_folder(&folder.photos)?;
        sync_folder(data_dir)?;
        Ok(folder)
    }

    /// As it is found, if it is there at all.
    pub(crate) fn at(data_dir: &Path, staging: Arc<Staging>) -> Self {
        Self { photos: data_dir.join(PHOTOS), staging }
    }

    pub(crate) fn put(
        &self,
        photo: PhotoId,
        squares: &[Square],
        original: Option<&[u8]>,
    ) -> Result<(), Error> {
        let staging = self.staging.path();
        let staged =
            tempfile::Builder::new().prefix("put-").tempdir_in(staging).map_err(Error::at(staging))?;
        let write = |part: Part, bytes: &[u8]| {
            let path = staged.path().join(part.to_string());
            write_synced(&path, bytes).map_err(Error::at(&path))
        };
        for square in squares {
            write(Part::Square(square.side), &square.bytes)?;
        }
        if let Some(original) = original {
            write(Part::Original, original)?;
        }
        sync_folder(staged.path())?;

        let place = self.place(photo);
        fs::rename(staged.path(), &place).map_err(Error::at(&place))?;
        // Nothing is left at the staging path for its guard to remove.
        let _moved: PathBuf = staged.keep();
        sync_folder(parent(&place))
    }

    pub(crate) fn square(&self, photo: PhotoId, side: u32) -> Result<Option<Stored>, Error> {
        let path = self.place(photo).join(Part::Square(side).to_string());
        match File::open(&path) {
            Ok(file) => Stored::file(file, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at(&path)(error)),
        }
    }

    pub(crate) fn files(&self, photo: PhotoId) -> Result<Vec<(Part, Bytes)>, Error> {
        let place = self.place(photo);
        let mut files = Vec::new();
        for (part, path) in parts(&place)? {
            match fs::read(&path) {
                Ok(bytes) => files.push((part, bytes.into())),
                // It is being deleted.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::at(&path)(error)),
            }
        }
        Ok(files)
    }

    pub(crate) fn shelf(&self, last_byte: u8) -> Result<Vec<Kept>, Error> {
        let shelf = self.photos.join(shard_of(last_byte));
        let mut found = Vec::new();
        for (name, path) in entries(&shelf)? {
            // Whatever else lies here (a disk's lost+found, say) is none of ours.
            let Ok(photo) = name.parse::<PhotoId>() else { continue };
            let Some((_, since)) = about(&path)? else { continue };
            let mut kept = Kept { photo, since, parts: Vec::new() };
            for (part, path) in parts(&path)? {
                kept.parts.extend(about(&path)?.map(|(length, _)| (part, length)));
            }
            found.push(kept);
        }
        Ok(found)
    }

    pub(crate) fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        let place = self.place(photo);
        match fs::remove_dir_all(&place) {
            // Not there any more may mean removed a moment before a crash, and not synced yet.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(&place)(error)),
            _ => sync_folder(parent(&place)),
        }
    }

    fn place(&self, photo: PhotoId) -> PathBuf {
        self.photos.join(shard(photo)).join(photo.to_string())
    }
}

/// The files of a photo, the largest square first and the original last.
fn parts(place: &Path) -> Result<Vec<(Part, PathBuf)>, Error> {
    let named = entries(place)?.into_iter().filter_map(|(name, path)| Some((name.parse().ok()?, path)));
    let mut parts: Vec<(Part, PathBuf)> = named.collect();
    parts.sort();
    Ok(parts)
}

/// What is in a folder; nothing if it is not there.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let read = || fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let paths: Vec<PathBuf> = match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other.map_err(Error::at(folder))?,
    };
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    Ok(paths.into_iter().filter_map(|path| Some((name(&path)?, path))).collect())
}

/// Length and time of what is there; `None` if it has just gone.
fn about(path: &Path) -> Result<Option<(u64, SystemTime)>, Error> {
    match fs::metadata(path).and_then(|found| Ok((found.len(), found.modified()?))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(Error::at(path)),
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::at(path))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(Error::at(path))
}

fn parent(place: &Path) -> &Path {
    place.parent().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use model::Timestamp;

    use super::*;

    fn open(data: &Path) -> Folder {
        Folder::open(data, Arc::new(Staging::open(data).unwrap())).unwrap()
    }

    fn photo(seed: u8) -> PhotoId {
        PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [seed; 10])
    }

    fn square(side: u32, text: &'static str) -> Square {
        Square { side, bytes: Bytes::from_static(text.as_bytes()) }
    }

    fn files(place: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_photo_is_a_folder_of_its_files() {
        let data = tempfile::tempdir().unwrap();
        let folder = open(data.path());
        let squares = [square(512, "large"), square(256, "small")];
        folder.put(photo(1), &squares, Some(b"as it was sent")).unwrap();
        folder.put(photo(2), &[square(512, "other")], None).unwrap();

        let named = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let first = [named("256", "small"), named("512", "large"), named("original", "as it was sent")];
        assert_eq!(files(&folder.place(photo(1))), first);
        assert_eq!(files(&folder.place(photo(2))), [named("512", "other")]);

        folder.delete(photo(1)).unwrap();
        assert!(!folder.place(photo(1)).exists(), "the squares and the original");
        assert_eq!(fs::read_dir(folder.staging.path()).unwrap().count(), 0, "nothing stays behind in tmp");
    }

    #[test]
    fn what_is_none_of_ours_is_passed_over() {
        let data = tempfile::tempdir().unwrap();
        let nowhere = data.path().join("nowhere");
        let unmade = Folder::at(&nowhere, Arc::new(Staging::at(&nowhere)));
        assert!(unmade.shelf(1).unwrap().is_empty() && unmade.files(photo(1)).unwrap().is_empty());

        let folder = open(data.path());
        folder.put(photo(1), &[square(256, "small")], None).unwrap();
        fs::create_dir(folder.photos.join("01/lost+found")).unwrap();
        fs::write(folder.place(photo(1)).join(".DS_Store"), "not ours").unwrap();
        let [kept] = &folder.shelf(1).unwrap()[..] else { panic!("one photo ends with this byte") };
        assert_eq!((kept.photo, &kept.parts), (photo(1), &vec![(Part::Square(256), 5)]));
        assert_eq!(folder.files(photo(1)).unwrap(), [(Part::Square(256), Bytes::from_static(b"small"))]);
    }

    #[test]
    fn opening_clears_what_a_crash_left_half_written() {
        let data = tempfile::tempdir().unwrap();
        let folder = open(data.path());
        folder.put(photo(1), &[square(256, "kept")], None).unwrap();
        let half = folder.staging.path().join("put-half");
        fs::create_dir(&half).unwrap();
        fs::write(half.join("512"), "half").unwrap();

        let folder = open(data.path());
        assert_eq!(fs::read_dir(folder.staging.path()).unwrap().count(), 0);
        assert_eq!(files(&folder.place(photo(1))), [("256".to_owned(), b"kept".to_vec())]);
    }
}
