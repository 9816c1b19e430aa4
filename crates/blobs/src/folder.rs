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
use std::time::SystemTime;

use bytes::Bytes;
use model::PhotoId;

use crate::{Error, Kept, Part, Square, Stored};

#[derive(Debug)]
pub(crate) struct Folder {
    photos: PathBuf,
    tmp: PathBuf,
}

impl Folder {
    pub(crate) fn open(data_dir: &Path) -> Result<Self, Error> {
        let folder = Self::at(data_dir);
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

    /// As it is found, if it is there at all.
    pub(crate) fn at(data_dir: &Path) -> Self {
        Self { photos: data_dir.join("photos"), tmp: data_dir.join("tmp") }
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
        let path = self.place(photo).join(side.to_string());
        match File::open(&path) {
            Ok(file) => Stored::new(file, path).map(Some),
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
        let shelf = self.photos.join(format!("{last_byte:02x}"));
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

/// The files of a photo, the largest square first and the original last.
fn parts(place: &Path) -> Result<Vec<(Part, PathBuf)>, Error> {
    let named = entries(place)?.into_iter().filter_map(|(name, path)| Some((name.parse().ok()?, path)));
    let mut parts: Vec<(Part, PathBuf)> = named.collect();
    parts.sort();
    Ok(parts)
}

/// What is in a folder; nothing if it is not there.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let read = || -> io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
    let paths = match read() {
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
    fn tells_what_lies_on_a_shelf() {
        let data = tempfile::tempdir().unwrap();
        let unmade = Folder::at(&data.path().join("nowhere"));
        assert!(unmade.shelf(1).unwrap().is_empty() && unmade.files(photo(1)).unwrap().is_empty());

        let folder = Folder::open(data.path()).unwrap();
        let squares = [square(256, "small"), square(2048, "largest"), square(512, "large")];
        folder.put(photo(1), &squares, Some(b"as sent")).unwrap();
        folder.put(photo(2), &[square(8, "tiny")], None).unwrap();
        fs::create_dir(folder.photos.join("01/lost+found")).unwrap();
        fs::write(folder.place(photo(1)).join(".DS_Store"), "not ours").unwrap();

        let [kept] = &folder.shelf(1).unwrap()[..] else { panic!("one photo ends with this byte") };
        assert_eq!(kept.photo, photo(1));
        let (sides, lengths): (Vec<String>, Vec<u64>) =
            kept.parts.iter().map(|(part, length)| (part.to_string(), *length)).unzip();
        assert_eq!(sides, ["2048", "512", "256", "original"]);
        assert_eq!(lengths, [7, 5, 5, 7]);
        assert!(kept.since.elapsed().is_ok_and(|age| age.as_secs() < 3600));
        let files = folder.files(photo(1)).unwrap();
        assert_eq!(files.iter().map(|(part, _)| part.to_string()).collect::<Vec<_>>(), sides);
        assert_eq!(files[3].1, "as sent");
        let all: usize = (0..=u8::MAX).map(|byte| folder.shelf(byte).unwrap().len()).sum();
        assert_eq!(all, 2);
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
