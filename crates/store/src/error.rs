//! Errors of running transactions and of opening a database.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{ErrorCode, ffi};

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("the database is overloaded: a queue is full or a timeout expired; retry later")]
    Busy,
    /// A deadlock, a serialization failure or a lost race with another node's write. Nothing was written.
    #[error("conflict with another write: {0}")]
    Conflict(Arc<str>),
    /// A write that fails with this was not acknowledged, but may have been committed: a retry must be
    /// idempotent. The server is unreachable, or an fsync of SQLite's log failed.
    #[error("the database is unavailable: {0}")]
    Unavailable(Arc<str>),
    #[error("database error: {0}")]
    Database(Arc<str>),
    /// SQLite reports an I/O error of a read as damage, too.
    #[error("the database is damaged, or its disk fails: {0}")]
    Damaged(Arc<str>),
    #[error("no disk space left for the database: {0}")]
    Full(Arc<str>),
    #[error("the database contains an invalid value: {0}")]
    Corrupt(String),
    #[error("the database is closed")]
    Closed,
    #[error("a transaction panicked")]
    Panicked,
    #[error("the database is opened read-only")]
    ReadOnly,
    /// An import was rolled back: the source failed, or the rows do not fit this database.
    #[error("{0}")]
    ImportRejected(String),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let message = described(&error).into();
        match (error.sqlite_error_code(), extended_code(&error)) {
            (Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase), _) => Self::Damaged(message),
            (Some(ErrorCode::DiskFull), _) => Self::Full(message),
            // The transaction is in the write-ahead log already: after a crash it may be found complete.
            (_, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_SHMSIZE)) => Self::Unavailable(message),
            _ => Self::Database(message),
        }
    }
}

pub(crate) fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|failure| failure.extended_code)
}

/// The message, with what has failed in an I/O error: SQLite's own is always "disk I/O error".
fn described(error: &rusqlite::Error) -> String {
    let operation = match extended_code(error) {
        Some(ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS) => "read",
        Some(ffi::SQLITE_IOERR_WRITE) => "write",
        Some(ffi::SQLITE_IOERR_FSYNC) => "fsync",
        Some(ffi::SQLITE_IOERR_TRUNCATE) => "truncate",
        Some(ffi::SQLITE_IOERR_SHMSIZE) => "the index of the write-ahead log cannot grow",
        Some(code) if code & 0xff == ffi::SQLITE_IOERR => return format!("{error} (SQLite error {code})"),
        _ => return error.to_string(),
    };
    format!("{error} ({operation})")
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the database {}: {}", path.display(), described(cause))]
    Open { path: PathBuf, cause: rusqlite::Error },
    #[error("the database {} cannot be read: {cause}", path.display())]
    Denied { path: PathBuf, cause: Box<dyn std::error::Error + Send + Sync> },
    #[error("the database {} is damaged, or its disk fails: {cause}", path.display())]
    Damaged { path: PathBuf, cause: String },
    #[error(
        "the database {database} has schema version {found}, made by a newer Pinhole; this one knows up to {known}"
    )]
    Newer { database: String, found: u32, known: u32 },
    #[error("there is no database {database}")]
    Missing { database: String },
    #[error(
        "the database {database} has schema version {found}, made by an older Pinhole; this one reads version {known}"
    )]
    Older { database: String, found: u32, known: u32 },
    #[error("{database} is not a Pinhole database")]
    Foreign { database: String },
    #[error("cannot use the database {database}: {cause}")]
    Server { database: String, cause: String },
    #[error("cannot start a database thread: {0}")]
    Thread(#[from] io::Error),
}

impl OpenError {
    /// For `map_err`: classifies an error of SQLite on the file `path`.
    pub(crate) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> Self + Copy {
        move |cause| {
            let path = path.to_owned();
            match cause.sqlite_error_code() {
                Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) if path.exists() => {
                    Self::Denied { path, cause: cause.into() }
                }
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    Self::Damaged { path, cause: cause.to_string() }
                }
                _ => Self::Open { path, cause },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_error_codes_map_to_distinct_errors() {
        let failure = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = OpenError::at(file.path());
        assert!(matches!(opened(failure(ffi::SQLITE_CANTOPEN)), OpenError::Denied { .. }));
        assert!(matches!(opened(failure(ffi::SQLITE_CORRUPT)), OpenError::Damaged { .. }));
        assert!(matches!(opened(failure(ffi::SQLITE_NOTADB)), OpenError::Damaged { .. }));
        assert!(matches!(opened(failure(ffi::SQLITE_IOERR)), OpenError::Open { .. }));
        assert!(matches!(Error::from(failure(ffi::SQLITE_FULL)), Error::Full(_)));
        assert!(matches!(Error::from(failure(ffi::SQLITE_IOERR_WRITE)), Error::Database(_)));
        assert!(matches!(Error::from(failure(ffi::SQLITE_IOERR_FSYNC)), Error::Unavailable(_)));
        assert!(matches!(Error::from(failure(ffi::SQLITE_IOERR_SHMSIZE)), Error::Unavailable(_)));
        assert!(matches!(Error::from(failure(ffi::SQLITE_CORRUPT)), Error::Damaged(_)));
    }
}
