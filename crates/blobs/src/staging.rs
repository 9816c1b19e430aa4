//! The local folder for what is being written: uploads on their way in, photos before they are in their
//! place. Emptied at every start. Every node needs one of its own, wherever photos are kept.

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

    /// As it is found, if it is there at all.
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
            _ => Err(Error::Unfaithful),
        }
    }
}
