//! Errors of blob storage.

use std::io;
use std::path::{Path, PathBuf};

use crate::bucket::S3Error;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    /// A ping read other bytes than it had written.
    #[error("the blob store does not return what was written to it")]
    ReadBackMismatch,
    #[error("the file operation was stopped: {0}")]
    Stopped(String),
    /// A request to the S3 store failed. The state of the object is unknown, and a retry may succeed.
    #[error("{0}")]
    Unavailable(S3Error),
    /// The file or object fails its checksum: it is truncated, altered or misplaced. Or the disk cannot read
    /// it.
    #[error("{file} is not what was written there")]
    Damaged { file: String },
    /// The S3 configuration is invalid; no request was sent.
    #[error("{0}")]
    S3Config(String),
}

impl Error {
    /// For `map_err`: an I/O error with its path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { path, cause }
    }

    /// Whether the disk is full, or a quota used up.
    pub fn is_no_space(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { cause, .. } if matches!(cause.kind(), StorageFull | QuotaExceeded))
    }
}
