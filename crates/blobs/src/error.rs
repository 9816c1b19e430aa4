//! What can go wrong on this floor.

use std::io;
use std::path::{Path, PathBuf};

use crate::bucket::Trouble;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("the blob store does not give back what was written to it")]
    Unfaithful,
    #[error("file work was stopped: {0}")]
    Stopped(String),
    /// The store did not do what it was asked. Nothing is known of the bytes, and later it may work.
    #[error("{0}")]
    Unavailable(Trouble),
    /// Too short, altered, or somebody else's.
    #[error("{object} is not what was written there")]
    Damaged { object: String },
    /// Nothing was asked of the store yet.
    #[error("{0}")]
    Account(String),
}

impl Error {
    /// For `map_err`: an I/O error with the path it happened at.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { path, cause }
    }
}
