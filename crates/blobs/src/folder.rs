//! Blobs in a local folder.
//!
//! ```text
//! photos/6f/0190a6e2-…-6f/2048   one folder a photo, one file a square
//! tmp/                           what is being written; emptied at every start
//! ```
//! A photo's folder is written under `tmp`, synced, renamed into place in one step, and the place it was
//! renamed into is synced: after that it is there, whole, whatever happens to the power.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use model::PhotoId;

use crate::{Error, Square};

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

    pub(crate) fn put(&self, photo: PhotoId, squares: &[Square]) -> Result<(), Error> {
        let staged =
            tempfile::Builder::new().prefix("put-").tempdir_in(&self.tmp).map_err(Error::at(&self.tmp))?;
        for square in squares {
            let path = staged.path().join(square.side.to_string());
            write_synced(&path, &square.bytes).map_err(Error::at(&path))?;
        }
        sync_folder(staged.path())?;

        let place = self.place(photo);
        fs::rename(staged.path(), &place).map_err(Error::at(&place))?;
        // Nothing is left at the staging path for its guard to remove.
        let _moved: PathBuf = staged.keep();
        sync_folder(parent(&place))
    }

    pub(crate) fn get(&self, photo: PhotoId, side: u32) -> Result<Option<Bytes>, Error> {
        let path = self.place(photo).join(side.to_string());
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes.into())),
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
    use model::Timestamp;

    use super::*;

    fn photo(seed: u8) -> PhotoId {
        PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [seed; 10])
    }

    fn square(side: u32, text: &'static str) -> Square {
        Square { side, bytes: Bytes::from_static(text.as_bytes()) }
    }

    #[test]
    fn gives_back_what_it_was_given_until_it_is_deleted() {
        let data = tempfile::tempdir().unwrap();
        let folder = Folder::open(data.path()).unwrap();
        folder.put(photo(1), &[square(512, "large"), square(256, "small")]).unwrap();
        folder.put(photo(2), &[square(512, "other")]).unwrap();

        assert_eq!(folder.get(photo(1), 512).unwrap().unwrap(), "large");
        assert_eq!(folder.get(photo(1), 256).unwrap().unwrap(), "small");
        assert_eq!(folder.get(photo(1), 128).unwrap(), None);

        folder.delete(photo(1)).unwrap();
        folder.delete(photo(1)).unwrap();
        assert_eq!(folder.get(photo(1), 512).unwrap(), None);
        assert_eq!(folder.get(photo(2), 512).unwrap().unwrap(), "other");
        assert_eq!(fs::read_dir(folder.tmp()).unwrap().count(), 0, "nothing stays behind in tmp");
        folder.ping().unwrap();
    }

    #[test]
    fn opening_clears_what_a_crash_left_half_written() {
        let data = tempfile::tempdir().unwrap();
        let folder = Folder::open(data.path()).unwrap();
        folder.put(photo(1), &[square(256, "kept")]).unwrap();
        fs::create_dir(folder.tmp().join("put-half")).unwrap();
        fs::write(folder.tmp().join("put-half/512"), "half").unwrap();

        let folder = Folder::open(data.path()).unwrap();
        assert_eq!(fs::read_dir(folder.tmp()).unwrap().count(), 0);
        assert_eq!(folder.get(photo(1), 256).unwrap().unwrap(), "kept");
    }
}
