//! What can go wrong on this floor.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("the blob store does not give back what was written to it")]
    Unfaithful,
    #[error("file work was stopped: {0}")]
    Stopped(String),
}

impl Error {
    /// For `map_err`: an I/O error with the path it happened at.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { path, cause }
    }
}
