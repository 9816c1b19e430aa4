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
    /// A row that breaks a rule, or that refers to what is lost.
    #[error("{entry}: {what}")]
    InvalidRow { entry: String, what: String },
    /// Damage of which nothing but detail is lost. Only a salvaging reader returns it.
    #[error("{0}")]
    Repaired(String),
    #[error("the archive is truncated after {last}: the backup or the copy of it did not finish")]
    Truncated { last: String },
    #[error("the archive has no user that is not damaged; the first damage is: {first}")]
    NothingLeft { first: String },
    #[error(
        "the archive has format version {version}, written by a newer Pinhole; this one reads up to {supported}"
    )]
    Newer { version: u32, supported: u32 },
    #[error("cannot spool to a temporary file: {0}\nPoint TMPDIR to a folder with enough free space.")]
    Spool(io::Error),
}

impl ArchiveError {
    /// Whether the rest of the archive can be read.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::InvalidRow { .. } | Self::Repaired(_) | Self::Truncated { .. }
        )
    }
}
