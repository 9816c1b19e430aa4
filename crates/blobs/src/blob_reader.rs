//! A blob that is open but not read: its length is known before memory for it is reserved.

use bytes::Bytes;

use crate::Error;
use crate::blocking::blocking;
use crate::bucket::Object;
use crate::folder::OpenFile;

#[derive(Debug)]
pub struct BlobReader(Source);

#[derive(Debug)]
enum Source {
    File(OpenFile),
    Object(Box<Object>),
}

impl BlobReader {
    pub(crate) fn file(file: OpenFile) -> Self {
        Self(Source::File(file))
    }

    pub(crate) fn object(object: Object) -> Self {
        Self(Source::Object(Box::new(object)))
    }

    pub fn length(&self) -> u64 {
        match &self.0 {
            Source::File(file) => file.length(),
            Source::Object(object) => object.length(),
        }
    }

    /// Reads the whole blob and verifies its checksum.
    pub async fn read(self) -> Result<Bytes, Error> {
        match self.0 {
            Source::File(file) => blocking(move || file.read()).await,
            Source::Object(object) => object.read().await,
        }
    }
}
