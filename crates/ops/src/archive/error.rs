//! What can be wrong with an archive.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive cannot be read: {0}")]
    Read(io::Error),
    #[error("this is not an archive of Pinhole, or its very beginning is damaged")]
    Foreign,
    #[error("{entry} is damaged: {what}")]
    Damaged { entry: String, what: String },
    #[error("the archive ends too early, after {last}: it was cut off, or never finished")]
    CutOff { last: String },
    #[error("the archive has format {found}, made by a newer Pinhole; this one reads up to {known}")]
    Newer { found: u32, known: u32 },
}
