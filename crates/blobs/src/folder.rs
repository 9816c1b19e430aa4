//! Blobs in a local folder.
//!
//! ```text
//! photos/6f/0190a6e2-…-6f/2048       one folder a photo, one file a square
//! photos/6f/0190a6e2-…-6f/original   what was uploaded, where that is kept
//! tmp/                               what is being written; emptied at every start
//! ```
//! A photo's folder is written under `tmp`, synced, renamed into place in one step, and the place it was
//! renamed into is synced: after that it is there, whole, whatever happens to the power.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use model::PhotoId;

use crate::{Error, Square, Stored};

/// The name of the file beside the squares.
const ORIGINAL: &str = "original";

#[derive(Debug)]
pub(crate) struct Folder {
    photos: PathBuf,
    tmp: PathBuf,
}

impl Folder {
    pub(crate) fn open(data_dir: &Path) -> Result<Self, Error> {
        let folder = Self { photos: data_dir.join("photos"), tmp: data_dir.join("tmp") };
        if folder.tmp.exists() {
            fs::remove_dir_all(&folder.tmp).map_err(Error::at(&folder.tmp))?;
        }
        make_folder(&folder.tmp)?;
        make_folder(&folder.photos)?;
        // All shards from the start: an upload then never has to make one, and sync it, on its way.
        for shard in 0..=u8::MAX {
            make_folder(&folder.photos.join(format!("{shard:02x}")))?;
        }
        sync_folder(&folder.photos)?;
        sync_folder(data_dir)?;
        Ok(folder)
    }

    pub(crate) fn tmp(&self) -> &Path {
        &self.tmp
    }

    pub(crate) fn put(
        &self,
        photo: PhotoId,
        squares: &[Square],
        original: Option<&[u8]>,
    ) -> Result<(), Error> {
        let staged =
            tempfile::Builder::new().prefix("put-").tempdir_in(&self.tmp).map_err(Error::at(&self.tmp))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = staged.path().join(name);
            write_synced(&path, bytes).map_err(Error::at(&path))
        };
        for square in squares {
            write(&square.side.to_string(), &square.bytes)?;
        }
        if let Some(original) = original {
            write(ORIGINAL, original)?;
        }
        sync_folder(staged.path())?;

        let place = self.place(photo);
        fs::rename(staged.path(), &place).map_err(Error::at(&place))?;
        // Nothing is left at the staging path for its guard to remove.
        let _moved: PathBuf = staged.keep();
        sync_folder(parent(&place))
    }

    pub(crate) fn square(&self, photo: PhotoId, side: u32) -> Result<Option<Stored>, Error> {
        let path = self.place(photo).join(side.to_string());
        match File::open(&path) {
            Ok(file) => Stored::new(file, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at(&path)(error)),
        }
    }

    pub(crate) fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        let place = self.place(photo);
        match fs::remove_dir_all(&place) {
            // Not there any more may mean removed a moment before a crash, and not synced yet.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(&place)(error)),
            _ => sync_folder(parent(&place)),
        }
    }

    pub(crate) fn ping(&self) -> Result<(), Error> {
        let mut probe =
            tempfile::Builder::new().prefix("ping-").tempfile_in(&self.tmp).map_err(Error::at(&self.tmp))?;
        probe.write_all(b"pinhole").map_err(Error::at(probe.path()))?;
        match fs::read(probe.path()).map_err(Error::at(probe.path()))?.as_slice() {
            b"pinhole" => Ok(()),
            _ => Err(Error::Unfaithful),
        }
    }

    /// The last byte of a photo id is random, so photos spread evenly over the shards.
    fn place(&self, photo: PhotoId) -> PathBuf {
        let shard = photo.as_bytes()[15];
        self.photos.join(format!("{shard:02x}")).join(photo.to_string())
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

    fn photo(seed: u8) -> PhotoId {
        PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [seed; 10])
    }

    fn square(side: u32, text: &'static str) -> Square {
        Square { side, bytes: Bytes::from_static(text.as_bytes()) }
    }

    fn read(folder: &Folder, seed: u8, side: u32) -> Option<String> {
        let stored = folder.square(photo(seed), side).unwrap()?;
        let length = stored.length();
        let bytes = stored.read().unwrap();
        assert_eq!(bytes.len() as u64, length);
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn gives_back_what_it_was_given_until_it_is_deleted() {
        let data = tempfile::tempdir().unwrap();
        let folder = Folder::open(data.path()).unwrap();
        let squares = [square(512, "large"), square(256, "small")];
        folder.put(photo(1), &squares, Some(b"as it was sent")).unwrap();
        folder.put(photo(2), &[square(512, "other")], None).unwrap();

        assert_eq!(read(&folder, 1, 512).as_deref(), Some("large"));
        assert_eq!(read(&folder, 1, 256).as_deref(), Some("small"));
        assert_eq!(read(&folder, 1, 128), None);
        let original = |seed| fs::read(folder.place(photo(seed)).join("original")).ok();
        assert_eq!((original(1).as_deref(), original(2)), (Some(&b"as it was sent"[..]), None));

        folder.delete(photo(1)).unwrap();
        folder.delete(photo(1)).unwrap();
        assert!(!folder.place(photo(1)).exists(), "the squares and the original");
        assert_eq!(read(&folder, 1, 512), None);
        assert_eq!(read(&folder, 2, 512).as_deref(), Some("other"));
        assert_eq!(fs::read_dir(folder.tmp()).unwrap().count(), 0, "nothing stays behind in tmp");
        folder.ping().unwrap();
    }

    #[test]
    fn opening_clears_what_a_crash_left_half_written() {
        let data = tempfile::tempdir().unwrap();
        let folder = Folder::open(data.path()).unwrap();
        folder.put(photo(1), &[square(256, "kept")], None).unwrap();
        fs::create_dir(folder.tmp().join("put-half")).unwrap();
        fs::write(folder.tmp().join("put-half/512"), "half").unwrap();

        let folder = Folder::open(data.path()).unwrap();
        assert_eq!(fs::read_dir(folder.tmp()).unwrap().count(), 0);
        assert_eq!(read(&folder, 1, 256).as_deref(), Some("kept"));
    }
}
