//! A blob that is open: its length is known before memory for it is reserved, and it is read whole or in
//! chunks.

use std::sync::Arc;

use bytes::Bytes;
use crc32fast::Hasher;

use crate::Error;
use crate::blocking::blocking;
use crate::bucket::Object;
use crate::folder::OpenFile;

/// The length of every chunk but the last one, in bytes.
pub const CHUNK: u64 = 64 << 10;

#[derive(Debug)]
pub struct BlobReader {
    source: Source,
    /// How many bytes were read, and the checksum of them.
    position: u64,
    checksum: Hasher,
    is_complete: bool,
}

#[derive(Debug)]
enum Source {
    File(Arc<OpenFile>),
    Object(Box<Object>),
}

impl BlobReader {
    pub(crate) fn file(file: OpenFile) -> Self {
        Self {
            checksum: file.hasher(),
            source: Source::File(Arc::new(file)),
            position: 0,
            is_complete: false,
        }
    }

    pub(crate) fn object(object: Object) -> Self {
        let checksum = object.hasher();
        Self { checksum, source: Source::Object(Box::new(object)), position: 0, is_complete: false }
    }

    pub fn length(&self) -> u64 {
        match &self.source {
            Source::File(file) => file.length(),
            Source::Object(object) => object.length(),
        }
    }

    /// Reads the whole blob and verifies its checksum.
    pub async fn read(mut self) -> Result<Bytes, Error> {
        self.read_to_end(u64::MAX).await
    }

    /// Reads the whole blob in chunks, verifies its checksum, and starts over. Returns the first chunk.
    pub async fn verify(&mut self) -> Result<Bytes, Error> {
        let first = self.read_to_end(CHUNK).await?;
        self.rewind();
        Ok(first)
    }

    /// The next chunk, `None` after the last one. The last one is returned only if the checksum of the whole
    /// blob is right: a reader that has it has an intact blob.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        self.next_up_to(CHUNK).await
    }

    async fn read_to_end(&mut self, chunk: u64) -> Result<Bytes, Error> {
        let outcome = self.read_chunks(chunk).await;
        let (Err(Error::Damaged { file }), Source::Object(object)) = (&outcome, &mut self.source) else {
            return outcome;
        };
        // The network or one of several replicas may have altered it: a second read decides.
        tracing::warn!(object = file, "object checksum mismatch; reading it again");
        object.reopen().await?;
        self.rewind();
        self.read_chunks(chunk).await
    }

    /// Reads to the end, and returns the first chunk.
    async fn read_chunks(&mut self, chunk: u64) -> Result<Bytes, Error> {
        let first = self.next_up_to(chunk).await?;
        while self.next_up_to(chunk).await?.is_some() {}
        Ok(first.unwrap_or_default())
    }

    async fn next_up_to(&mut self, chunk: u64) -> Result<Option<Bytes>, Error> {
        if self.is_complete {
            return Ok(None);
        }
        let (at, length, mut checksum) = (self.position, self.length(), self.checksum.clone());
        let count = usize::try_from(chunk.min(length - at)).unwrap_or(usize::MAX);
        let (bytes, checksum) = match &mut self.source {
            Source::File(file) => {
                let file = file.clone();
                blocking(move || {
                    let bytes = file.read_at(at, count)?;
                    checksum.update(&bytes);
                    Ok((bytes, checksum))
                })
                .await?
            }
            Source::Object(object) => {
                let bytes = object.read_at(at, count).await?;
                checksum.update(&bytes);
                (bytes, checksum)
            }
        };
        let position = at + bytes.len() as u64;
        if position == length {
            match &self.source {
                Source::File(file) => file.verify(checksum.clone().finalize())?,
                Source::Object(object) => object.verify(checksum.clone().finalize())?,
            }
            self.is_complete = true;
        }
        (self.position, self.checksum) = (position, checksum);
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    fn rewind(&mut self) {
        self.checksum = match &self.source {
            Source::File(file) => file.hasher(),
            Source::Object(object) => object.hasher(),
        };
        (self.position, self.is_complete) = (0, false);
    }
}
