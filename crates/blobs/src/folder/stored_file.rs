//! A photo's file in a folder. Its name carries a checksum of its content, as an object's metadata does in a
//! bucket.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bytes::Bytes;
use crc32fast::Hasher;
use model::PhotoId;

use crate::checksum::hasher;
use crate::{Error, PhotoFile};

#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) file: PhotoFile,
    /// Files of versions before checksums have none.
    pub(super) checksum: Option<u32>,
    pub(super) path: PathBuf,
}

impl StoredFile {
    /// The name of a new file, such as `2048-1a2b3c4d`.
    pub(super) fn name(photo: PhotoId, file: PhotoFile, bytes: &[u8]) -> String {
        let mut checksum = hasher_of(photo, file);
        checksum.update(bytes);
        format!("{file}-{:08x}", checksum.finalize())
    }

    /// `None` for the name of a foreign file.
    pub(super) fn parse(name: &str, path: PathBuf) -> Option<Self> {
        let (file, checksum) = match name.split_once('-') {
            Some((file, hex)) if hex.len() == 8 => (file, Some(u32::from_str_radix(hex, 16).ok()?)),
            Some(_) => return None,
            None => (name, None),
        };
        Some(Self { file: file.parse().ok()?, checksum, path })
    }

    /// `None` if the file was deleted since it was listed.
    pub(super) fn open(self, photo: PhotoId) -> Result<Option<OpenFile>, Error> {
        let opened = File::open(&self.path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((length, handle)) => Ok(Some(OpenFile { handle, length, photo, stored: self })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at(&self.path)(error)),
        }
    }
}

/// A file that is open but not read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    handle: File,
    length: u64,
    photo: PhotoId,
    stored: StoredFile,
}

impl OpenFile {
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Reads the file and verifies its checksum.
    pub(crate) fn read(&self) -> Result<Bytes, Error> {
        let bytes = self.read_at(0, usize::try_from(self.length).unwrap_or(usize::MAX))?;
        let mut checksum = self.hasher();
        checksum.update(&bytes);
        self.verify(checksum.finalize())?;
        Ok(bytes)
    }

    /// Exactly `count` bytes.
    pub(crate) fn read_at(&self, at: u64, count: usize) -> Result<Bytes, Error> {
        let mut bytes = vec![0; count];
        match self.handle.read_exact_at(&mut bytes, at) {
            Ok(()) => Ok(bytes.into()),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(self.damaged()),
            // The disk cannot read a sector.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                Err(self.damaged())
            }
            Err(error) => Err(Error::at(&self.stored.path)(error)),
        }
    }

    /// For the checksum of the file, before its first byte.
    pub(crate) fn hasher(&self) -> Hasher {
        hasher_of(self.photo, self.stored.file)
    }

    pub(crate) fn verify(&self, checksum: u32) -> Result<(), Error> {
        let is_intact = self.stored.checksum.is_none_or(|expected| expected == checksum);
        if is_intact { Ok(()) } else { Err(self.damaged()) }
    }

    fn damaged(&self) -> Error {
        Error::Damaged { file: self.stored.path.display().to_string() }
    }
}

fn hasher_of(photo: PhotoId, file: PhotoFile) -> Hasher {
    hasher([file.to_string().as_bytes(), photo.to_string().as_bytes()])
}
