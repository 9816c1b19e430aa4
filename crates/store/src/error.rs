//! What can go wrong on this floor.

use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("too much work is waiting for the database")]
    Busy,
    #[error("the database failed: {0}")]
    Database(Arc<rusqlite::Error>),
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
        Self::Database(Arc::new(error))
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the database {}: {cause}", path.display())]
    Open { path: PathBuf, cause: rusqlite::Error },
    #[error(
        "the database {} has schema version {found}, made by a newer Pinhole; this one knows up to {known}",
        path.display()
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("there is no database {}", path.display())]
    Missing { path: PathBuf },
    #[error(
        "the database {} has schema version {found}, made by an older Pinhole; this one reads version {known}",
        path.display()
    )]
    Older { path: PathBuf, found: u32, known: u32 },
    #[error("{} is a database of some other program, not of Pinhole", path.display())]
    Foreign { path: PathBuf },
    #[error("cannot start a database thread: {0}")]
    Thread(#[from] std::io::Error),
}
