//! A photo's file in a folder. Its name carries a checksum of its content, as an object's metadata does in a
//! bucket.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use bytes::Bytes;
use model::PhotoId;

use crate::checksum::checksum;
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
        format!("{file}-{:08x}", checksum_of(photo, file, bytes))
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
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
    pub(crate) fn read(self) -> Result<Bytes, Error> {
        let Self { mut handle, length, photo, stored: StoredFile { file, checksum, path } } = self;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        let is_intact = match handle.read_to_end(&mut bytes) {
            Ok(_) => checksum.is_none_or(|checksum| checksum == checksum_of(photo, file, &bytes)),
            // The disk cannot read a sector.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => false,
            Err(error) => return Err(Error::at(&path)(error)),
        };
        if is_intact { Ok(bytes.into()) } else { Err(Error::Damaged { file: path.display().to_string() }) }
    }
}

fn checksum_of(photo: PhotoId, file: PhotoFile, bytes: &[u8]) -> u32 {
    checksum([file.to_string().as_bytes(), photo.to_string().as_bytes()], bytes)
}
