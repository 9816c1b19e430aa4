//! The local folder of unfinished writes: uploads in progress and photos before their rename. It is emptied
//! at every start. Every node has its own, also where photos are stored in a bucket.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Error;

#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
}

impl Staging {
    pub(crate) fn open(data_dir: &Path) -> Result<Self, Error> {
        let staging = Self::at(data_dir);
        let path = staging.path();
        if path.exists() {
            fs::remove_dir_all(path).map_err(Error::at(path))?;
        }
        fs::create_dir_all(path).map_err(Error::at(path))?;
        Ok(staging)
    }

    /// Neither creates nor empties the folder.
    pub(crate) fn at(data_dir: &Path) -> Self {
        Self { path: data_dir.join("tmp") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn ping(&self) -> Result<(), Error> {
        let mut probe = tempfile::Builder::new()
            .prefix("ping-")
            .tempfile_in(&self.path)
            .map_err(Error::at(&self.path))?;
        probe.write_all(b"pinhole").map_err(Error::at(probe.path()))?;
        match fs::read(probe.path()).map_err(Error::at(probe.path()))?.as_slice() {
            b"pinhole" => Ok(()),
            _ => Err(Error::ReadBackMismatch),
        }
    }
}
