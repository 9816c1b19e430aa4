//! An upload in progress: its bytes are written to a temporary file as they arrive, never buffered in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::Error;

/// An unlinked temporary file: it disappears when it is dropped, also in a crash.
#[derive(Debug)]
pub struct Spool {
    file: tokio::fs::File,
    folder: PathBuf,
    bytes_written: u64,
    sha256: Sha256,
}

impl Spool {
    pub(crate) fn create(folder: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(folder).map_err(Error::at(folder))?;
        let file = tokio::fs::File::from_std(file);
        Ok(Self { file, folder: folder.to_owned(), bytes_written: 0, sha256: Sha256::new() })
    }

    pub async fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.file.write_all(chunk).await.map_err(Error::at(&self.folder))?;
        self.bytes_written += chunk.len() as u64;
        self.sha256.update(chunk);
        Ok(())
    }

    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    pub async fn finish(mut self) -> Result<SpooledFile, Error> {
        self.file.flush().await.map_err(Error::at(&self.folder))?;
        let (length, sha256) = (self.bytes_written, self.sha256.finalize().into());
        Ok(SpooledFile { file: Arc::new(self.file.into_std().await), length, sha256 })
    }
}

/// A complete upload. Clones share the file.
#[derive(Debug, Clone)]
pub struct SpooledFile {
    file: Arc<File>,
    length: u64,
    sha256: [u8; 32],
}

impl SpooledFile {
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Computed while the file was written.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// The file itself, for a reader that needs only parts of it.
    pub fn into_file(self) -> Arc<File> {
        self.file
    }

    /// Reads the whole file. Blocks the calling thread.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}
