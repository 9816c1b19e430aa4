//! An upload on its way in: bytes go to a file as they arrive, never to memory.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt;

use crate::Error;

/// A nameless temporary file that fills up; it vanishes when dropped, even in a crash.
#[derive(Debug)]
pub struct Spool {
    file: tokio::fs::File,
    folder: PathBuf,
    written: u64,
}

impl Spool {
    pub(crate) fn create(folder: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(folder).map_err(Error::at(folder))?;
        Ok(Self { file: tokio::fs::File::from_std(file), folder: folder.to_owned(), written: 0 })
    }

    pub async fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.file.write_all(chunk).await.map_err(Error::at(&self.folder))?;
        self.written += chunk.len() as u64;
        Ok(())
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    pub async fn finish(mut self) -> Result<Spooled, Error> {
        self.file.flush().await.map_err(Error::at(&self.folder))?;
        Ok(Spooled { file: self.file.into_std().await })
    }
}

/// An upload that has arrived.
#[derive(Debug)]
pub struct Spooled {
    file: File,
}

impl Spooled {
    /// Reads all of it. Blocks: call it where blocking is fine.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        self.file.rewind()?;
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(0);
        let mut bytes = Vec::with_capacity(length);
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
