//! What can go wrong on this floor.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("too much work is waiting for the database")]
    Busy,
    /// Writes of several nodes wanted the same things in turn. Nothing was written.
    #[error("other writes were in the way: {0}")]
    Conflict(Arc<str>),
    /// The database is unreachable. A write that fails so was not acknowledged, but may have been committed:
    /// a retry must be ready to find it done.
    #[error("the database cannot be reached: {0}")]
    Unavailable(Arc<str>),
    #[error("the database failed: {0}")]
    Database(Arc<str>),
    #[error("the database is damaged: {0}")]
    Damaged(Arc<str>),
    #[error("there is no room for the database: {0}")]
    Full(Arc<str>),
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
        let words = error.to_string().into();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(words),
            Some(ErrorCode::DiskFull) => Self::Full(words),
            _ => Self::Database(words),
        }
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the database {}: {cause}", path.display())]
    Open { path: PathBuf, cause: rusqlite::Error },
    #[error("the database {} cannot be read: {cause}", path.display())]
    Denied { path: PathBuf, cause: Box<dyn std::error::Error + Send + Sync> },
    #[error("the database {} is damaged: {cause}", path.display())]
    Damaged { path: PathBuf, cause: rusqlite::Error },
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
    Thread(#[from] io::Error),
}

impl OpenError {
    /// For `map_err`: what SQLite said, of the file it said it about.
    pub(crate) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> Self + Copy {
        move |cause| {
            let path = path.to_owned();
            match cause.sqlite_error_code() {
                Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) if path.exists() => {
                    Self::Denied { path, cause: cause.into() }
                }
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, cause },
                _ => Self::Open { path, cause },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn what_sqlite_says_leads_to_different_advice() {
        let said = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = OpenError::at(file.path());
        assert!(matches!(opened(said(ffi::SQLITE_CANTOPEN)), OpenError::Denied { .. }));
        assert!(matches!(opened(said(ffi::SQLITE_CORRUPT)), OpenError::Damaged { .. }));
        assert!(matches!(opened(said(ffi::SQLITE_NOTADB)), OpenError::Damaged { .. }));
        assert!(matches!(opened(said(ffi::SQLITE_IOERR)), OpenError::Open { .. }));
        assert!(matches!(Error::from(said(ffi::SQLITE_FULL)), Error::Full(_)));
        assert!(matches!(Error::from(said(ffi::SQLITE_CORRUPT)), Error::Damaged(_)));
    }
}
