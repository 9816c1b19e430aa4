//! A file that is there but not in memory yet: whoever has to wait for memory knows how much to ask for.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::Error;

#[derive(Debug)]
pub struct Stored {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Stored {
    pub(crate) fn new(file: File, path: PathBuf) -> Result<Self, Error> {
        let length = file.metadata().map_err(Error::at(&path))?.len();
        Ok(Self { file, path, length })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads all of it. Blocks: call it where blocking is fine.
    pub fn read(mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.length).unwrap_or(0));
        self.file.read_to_end(&mut bytes).map_err(Error::at(&self.path))?;
        Ok(bytes)
    }
}
