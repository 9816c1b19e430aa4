//! Blobs in a local folder.
//!
//! ```text
//! photos/6f/0190a6e2-…-6f/2048-1a2b3c4d       a folder per photo, a file per master
//! photos/6f/0190a6e2-…-6f/fit2048-5e6f7a8b    the whole photo, derived from the original and not synced
//! photos/6f/0190a6e2-…-6f/original-9f8e7d6c   the stripped upload, if `keep_originals` is set
//! photos/6f/0190a6e2-…-6f/part0.1-0a1b2c3d    a part of an upload that is not complete
//! tmp/                                        unfinished writes (`staging.rs`)
//! ```
//! A file's name carries the checksum of its content (`stored_file.rs`), which costs no further file to sync.
//!
//! A photo's folder is written below `tmp`, synced, renamed to its shard, and the shard is synced: the photo
//! appears atomically and survives a power failure.

mod stored_file;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use model::PhotoId;

use crate::names::{PHOTOS, shard, shard_of};
use crate::staging::Staging;
use crate::{Error, PhotoFile, PhotoFiles, StoredPhoto};

pub(crate) use stored_file::OpenFile;
use stored_file::StoredFile;

#[derive(Debug)]
pub(crate) struct Folder {
    photos: PathBuf,
    staging: Arc<Staging>,
}

impl Folder {
    pub(crate) fn open(data_dir: &Path, staging: Arc<Staging>) -> Result<Self, Error> {
        let folder = Self::at(data_dir, staging);
        make_folder(&folder.photos)?;
        // All shards are created here, so that no upload has to create and sync one.
        for last_byte in 0..=u8::MAX {
            make_folder(&folder.photos.join(shard_of(last_byte)))?;
        }
        sync_folder(&folder.photos)?;
        sync_folder(data_dir)?;
        Ok(folder)
    }

    /// Creates nothing; the folder may be missing.
    pub(crate) fn at(data_dir: &Path, staging: Arc<Staging>) -> Self {
        Self { photos: data_dir.join(PHOTOS), staging }
    }

    pub(crate) fn put(&self, photo: PhotoId, files: &[(PhotoFile, Bytes)]) -> Result<(), Error> {
        let staging = self.staging.path();
        let staged =
            tempfile::Builder::new().prefix("put-").tempdir_in(staging).map_err(Error::at(staging))?;
        for (file, bytes) in files {
            let path = staged.path().join(StoredFile::name(photo, *file, bytes));
            write(&path, bytes, !file.is_derived()).map_err(Error::at(&path))?;
        }
        sync_folder(staged.path())?;

        let folder = self.photo_folder(photo);
        fs::rename(staged.path(), &folder).map_err(Error::at(&folder))?;
        // Disarms the guard, which would remove the staging path.
        let _moved: PathBuf = staged.keep();
        sync_folder(parent(&folder))
    }

    pub(crate) fn file(&self, photo: PhotoId, file: PhotoFile) -> Result<Option<OpenFile>, Error> {
        let files = photo_files(&self.photo_folder(photo))?;
        let stored = files.into_iter().find(|stored| stored.file == file);
        stored.map_or(Ok(None), |stored| stored.open(photo))
    }

    pub(crate) fn files(&self, photo: PhotoId) -> Result<PhotoFiles, Error> {
        let mut files = PhotoFiles::default();
        for stored in kept_files(&self.photo_folder(photo))? {
            let (file, has_checksum) = (stored.file, stored.checksum.is_some());
            // A missing file means that the photo is being deleted.
            let Some(open) = stored.open(photo)? else { continue };
            match open.read() {
                Err(Error::Damaged { .. }) => files.damaged.push(file),
                bytes => {
                    files.intact.push((file, bytes?));
                    files.unverified.extend((!has_checksum).then_some(file));
                }
            }
        }
        Ok(files)
    }

    /// Writes one file of an existing photo, in place of a damaged one. The damaged file is removed first:
    /// after a crash the file is missing, which is noticed, and never exists twice.
    pub(crate) fn replace(&self, photo: PhotoId, file: PhotoFile, bytes: &[u8]) -> Result<(), Error> {
        let (staging, folder) = (self.staging.path(), self.photo_folder(photo));
        let mut staged =
            tempfile::Builder::new().prefix("replace-").tempfile_in(staging).map_err(Error::at(staging))?;
        let written = staged.write_all(bytes).and_then(|()| staged.as_file().sync_all());
        written.map_err(Error::at(staged.path()))?;
        let path = folder.join(StoredFile::name(photo, file, bytes));
        remove_copies(&folder, file, Some(&path))?;
        staged.persist(&path).map_err(|error| Error::at(&path)(error.error))?;
        sync_folder(&folder)
    }

    /// Writes a part of an upload in place: one that a crash cuts short has no row.
    pub(crate) fn put_part(&self, upload: PhotoId, part: PhotoFile, bytes: &[u8]) -> Result<(), Error> {
        let folder = self.photo_folder(upload);
        if !folder.exists() {
            make_folder(&folder)?;
            sync_folder(parent(&folder))?;
        }
        let path = folder.join(StoredFile::name(upload, part, bytes));
        write(&path, bytes, true).map_err(Error::at(&path))?;
        sync_folder(&folder)
    }

    /// Not synced: a file that a power failure brings back is deleted with its upload.
    pub(crate) fn delete_part(&self, upload: PhotoId, part: PhotoFile) -> Result<(), Error> {
        remove_copies(&self.photo_folder(upload), part, None)
    }

    /// Adds checksums to the names of files that a version without checksums wrote.
    pub(crate) fn add_checksums(&self, photo: PhotoId, files: &[(PhotoFile, Bytes)]) -> Result<(), Error> {
        let folder = self.photo_folder(photo);
        for (file, bytes) in files {
            let old = folder.join(file.to_string());
            let new = folder.join(StoredFile::name(photo, *file, bytes));
            fs::rename(&old, &new).map_err(Error::at(&old))?;
            remove_copies(&folder, *file, Some(&new))?;
        }
        sync_folder(&folder)
    }

    pub(crate) fn list_shard(&self, last_byte: u8) -> Result<Vec<StoredPhoto>, Error> {
        let shard = self.photos.join(shard_of(last_byte));
        let mut listed = Vec::new();
        for (name, path) in entries(&shard)? {
            // Foreign entries, such as a disk's `lost+found`, are skipped.
            let Ok(photo) = name.parse::<PhotoId>() else { continue };
            let Some((_, since)) = length_and_mtime(&path)? else { continue };
            let mut stored = StoredPhoto { photo, since, files: Vec::new() };
            for StoredFile { file, path, .. } in kept_files(&path)? {
                stored.files.extend(length_and_mtime(&path)?.map(|(length, _)| (file, length)));
            }
            listed.push(stored);
        }
        Ok(listed)
    }

    pub(crate) fn has_photos(&self) -> Result<bool, Error> {
        for last_byte in 0..=u8::MAX {
            let names = entries(&self.photos.join(shard_of(last_byte)))?;
            if names.iter().any(|(name, _)| name.parse::<PhotoId>().is_ok()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn delete(&self, photo: PhotoId) -> Result<(), Error> {
        let folder = self.photo_folder(photo);
        match fs::remove_dir_all(&folder) {
            // A missing folder is synced too: a crash may have interrupted a delete before its sync.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(&folder)(error)),
            _ => sync_folder(parent(&folder)),
        }
    }

    fn photo_folder(&self, photo: PhotoId) -> PathBuf {
        self.photos.join(shard(photo)).join(photo.to_string())
    }
}

/// The files of a photo without derived ones, the largest master first and the original last.
fn kept_files(folder: &Path) -> Result<Vec<StoredFile>, Error> {
    let mut files = photo_files(folder)?;
    files.retain(|stored| !stored.file.is_derived());
    Ok(files)
}

fn photo_files(folder: &Path) -> Result<Vec<StoredFile>, Error> {
    let mut files = stored_files(folder)?;
    // An operator may have copied a file from elsewhere beside a damaged one: it has no checksum in its name,
    // and comes first.
    files.sort_by_key(|stored| (stored.file, stored.checksum));
    files.dedup_by_key(|stored| stored.file);
    Ok(files)
}

fn stored_files(folder: &Path) -> Result<Vec<StoredFile>, Error> {
    let entries = entries(folder)?.into_iter();
    Ok(entries.filter_map(|(name, path)| StoredFile::parse(&name, path)).collect())
}

/// Removes every copy of a photo's file but `kept`.
fn remove_copies(folder: &Path, file: PhotoFile, kept: Option<&Path>) -> Result<(), Error> {
    let copies = stored_files(folder)?.into_iter().filter(|stored| stored.file == file);
    for other in copies.filter(|stored| Some(&*stored.path) != kept) {
        fs::remove_file(&other.path).map_err(Error::at(&other.path))?;
    }
    Ok(())
}

/// The names and paths in a folder; empty if the folder is missing.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let read = || fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let paths: Vec<PathBuf> = match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other.map_err(Error::at(folder))?,
    };
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    Ok(paths.into_iter().filter_map(|path| Some((name(&path)?, path))).collect())
}

/// Length and modification time; `None` if the file is missing.
fn length_and_mtime(path: &Path) -> Result<Option<(u64, SystemTime)>, Error> {
    match fs::metadata(path).and_then(|metadata| Ok((metadata.len(), metadata.modified()?))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(Error::at(path)),
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::at(path))
}

fn write(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    if sync { file.sync_all() } else { Ok(()) }
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(Error::at(path))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
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

    fn master(side: u32, text: &'static str) -> (PhotoFile, Bytes) {
        (PhotoFile::Master(side), Bytes::from_static(text.as_bytes()))
    }

    fn original(text: &'static str) -> (PhotoFile, Bytes) {
        (PhotoFile::Original, Bytes::from_static(text.as_bytes()))
    }

    fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let files = kept_files(folder).unwrap().into_iter();
        files.map(|stored| (stored.file.to_string(), fs::read(stored.path).unwrap())).collect()
    }

    #[test]
    fn a_photo_is_stored_as_a_folder_and_deleted_with_it() {
        let data = tempfile::tempdir().unwrap();
        let folder = open(data.path());
        let fit = (PhotoFile::Fit(640), Bytes::from_static(b"whole"));
        let written = [master(512, "large"), master(256, "small"), original("the upload"), fit];
        folder.put(photo(1), &written).unwrap();
        folder.put(photo(2), &[master(512, "other")]).unwrap();

        let named = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let first = [named("512", "large"), named("256", "small"), named("original", "the upload")];
        assert_eq!(files(&folder.photo_folder(photo(1))), first, "without the derived file");
        let fit = folder.file(photo(1), PhotoFile::Fit(640)).unwrap().unwrap();
        assert_eq!(fit.read().unwrap(), "whole");
        assert_eq!(files(&folder.photo_folder(photo(2))), [named("512", "other")]);

        folder.delete(photo(1)).unwrap();
        assert!(!folder.photo_folder(photo(1)).exists(), "masters and original must be deleted");
        assert_eq!(fs::read_dir(folder.staging.path()).unwrap().count(), 0, "tmp must be empty");
    }

    #[test]
    fn listings_skip_foreign_entries_and_missing_folders() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("missing");
        let missing = Folder::at(&path, Arc::new(Staging::at(&path)));
        assert!(missing.list_shard(1).unwrap().is_empty());
        assert_eq!(missing.files(photo(1)).unwrap(), PhotoFiles::default());

        let folder = open(data.path());
        folder.put(photo(1), &[master(256, "small")]).unwrap();
        fs::create_dir(folder.photos.join("01/lost+found")).unwrap();
        fs::write(folder.photo_folder(photo(1)).join(".DS_Store"), "foreign").unwrap();
        let [stored] = &folder.list_shard(1).unwrap()[..] else { panic!("expected one photo in shard 01") };
        assert_eq!((stored.photo, &stored.files), (photo(1), &vec![(PhotoFile::Master(256), 5)]));
        let small = (PhotoFile::Master(256), Bytes::from_static(b"small"));
        assert_eq!(folder.files(photo(1)).unwrap().intact, [small]);
    }

    #[test]
    fn opening_deletes_partial_writes_and_keeps_photos() {
        let data = tempfile::tempdir().unwrap();
        let folder = open(data.path());
        folder.put(photo(1), &[master(256, "stored")]).unwrap();
        let partial = folder.staging.path().join("put-partial");
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("512"), "partial").unwrap();

        let folder = open(data.path());
        assert_eq!(fs::read_dir(folder.staging.path()).unwrap().count(), 0);
        assert_eq!(files(&folder.photo_folder(photo(1))), [("256".to_owned(), b"stored".to_vec())]);
    }

    #[test]
    fn damage_is_found_in_every_file_with_a_checksum_and_replaced() {
        let data = tempfile::tempdir().unwrap();
        let folder = open(data.path());
        folder.put(photo(1), &[master(512, "large"), master(256, "small"), original("sent")]).unwrap();
        let stored = photo_files(&folder.photo_folder(photo(1))).unwrap();
        let read = |side| folder.file(photo(1), PhotoFile::Master(side)).unwrap().unwrap().read();
        for (damaged, text) in [(&stored[0], "largf"), (&stored[1], "smal"), (&stored[2], "")] {
            fs::write(&damaged.path, text).unwrap();
        }
        assert!(matches!(read(512), Err(Error::Damaged { .. })));
        let [large, small, original] = [PhotoFile::Master(512), PhotoFile::Master(256), PhotoFile::Original];
        assert_eq!(folder.files(photo(1)).unwrap().damaged, [large, small, original]);

        folder.replace(photo(1), large, b"rebuilt").unwrap();
        assert_eq!(read(512).unwrap(), "rebuilt");
        // A copy that an operator puts beside the damaged file.
        fs::write(folder.photo_folder(photo(1)).join("256"), "small").unwrap();
        let files = folder.files(photo(1)).unwrap();
        assert_eq!((files.damaged, files.unverified), (vec![original], vec![small]));
        folder.add_checksums(photo(1), &[(small, Bytes::from_static(b"small"))]).unwrap();
        assert_eq!(folder.files(photo(1)).unwrap().unverified, []);
        assert_eq!(read(256).unwrap(), "small");
    }
}
