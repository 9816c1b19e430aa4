//! What can go wrong on this floor.

use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("too much work is waiting for the database")]
    Busy,
    /// Writes of several nodes wanted the same things in turn. Nothing was written.
    #[error("other writes were in the way: {0}")]
    Conflict(Arc<str>),
    /// The database is away. A write that fails so was never acknowledged, but may have held: whoever repeats it must
    /// be ready to find it done.
    #[error("the database cannot be reached: {0}")]
    Unavailable(Arc<str>),
    #[error("the database failed: {0}")]
    Database(Arc<str>),
    #[error("the database holds a value that breaks its rule: {0}")]
    Corrupt(String),
    #[error("the database was closed")]
    Closed,
    #[error("a transaction panicked")]
    Panicked,
    #[error("the database was opened to be read only")]
    ReadOnly,
    /// What was to be brought in cannot be; nothing of it is kept.
    #[error("{0}")]
    Refused(String),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string().into())
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the database {}: {cause}", path.display())]
    Open { path: PathBuf, cause: rusqlite::Error },
    #[error(
        "the database {place} has schema version {found}, made by a newer Pinhole; this one knows up to {known}"
    )]
    Newer { place: String, found: u32, known: u32 },
    #[error("there is no database {place}")]
    Missing { place: String },
    #[error(
        "the database {place} has schema version {found}, made by an older Pinhole; this one reads version {known}"
    )]
    Older { place: String, found: u32, known: u32 },
    #[error("{place} is a database of some other program, not of Pinhole")]
    Foreign { place: String },
    #[error("cannot use the database {place}: {cause}")]
    Server { place: String, cause: String },
    #[error("cannot start a database thread: {0}")]
    Thread(#[from] std::io::Error),
}
