//! A blob that is open but not read: its length is known before memory for it is reserved.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use bytes::Bytes;

use crate::Error;
use crate::blocking::blocking;
use crate::bucket::Object;

#[derive(Debug)]
pub struct BlobReader {
    length: u64,
    source: Source,
}

#[derive(Debug)]
enum Source {
    File(File, PathBuf),
    Object(Box<Object>),
}

impl BlobReader {
    pub(crate) fn file(file: File, path: PathBuf) -> Result<Self, Error> {
        let length = file.metadata().map_err(Error::at(&path))?.len();
        Ok(Self { length, source: Source::File(file, path) })
    }

    pub(crate) fn object(object: Object) -> Self {
        Self { length: object.length(), source: Source::Object(Box::new(object)) }
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads the whole blob. The checksum of a bucket's object is verified.
    pub async fn read(self) -> Result<Bytes, Error> {
        match self.source {
            Source::File(file, path) => blocking(move || read_file(file, path, self.length)).await,
            Source::Object(object) => object.read().await,
        }
    }
}

fn read_file(mut file: File, path: PathBuf, length: u64) -> Result<Bytes, Error> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.read_to_end(&mut bytes).map_err(Error::at(&path))?;
    Ok(bytes.into())
}
