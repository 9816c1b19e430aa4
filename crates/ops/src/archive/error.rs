//! Errors of reading an archive.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive cannot be read: {0}")]
    Read(io::Error),
    #[error("this is not an archive of Pinhole, or its first header is damaged")]
    NotAnArchive,
    #[error("{entry} is damaged: {what}")]
    Damaged { entry: String, what: String },
    #[error("the archive is truncated after {last}: the backup or the copy of it did not finish")]
    Truncated { last: String },
    #[error("the archive has no user that is not damaged; the first damage is: {first}")]
    NothingLeft { first: String },
    #[error(
        "the archive has format version {version}, written by a newer Pinhole; this one reads up to {supported}"
    )]
    Newer { version: u32, supported: u32 },
}
