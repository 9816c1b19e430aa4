//! A result row of either backend, read by column index.

use model::{PhotoId, PostId, Timestamp, UserId};

use crate::error::Error;
use crate::postgres::row;

pub(crate) enum Row<'r, 's> {
    Sqlite(&'r rusqlite::Row<'s>),
    Postgres(&'r tokio_postgres::Row),
}

impl Row<'_, '_> {
    pub(crate) fn int(&self, column: usize) -> Result<i64, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row::int(row, column),
        }
    }

    pub(crate) fn unsigned<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Error> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|_| Error::Corrupt(format!("{value} in column {column}")))
    }

    pub(crate) fn bool(&self, column: usize) -> Result<bool, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row::get(row, column),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row::get(row, column),
        }
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<String>, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => row::get(row, column),
        }
    }

    /// Passes a column's bytes to `read` without copying them first.
    pub(crate) fn read_bytes<T>(&self, column: usize, read: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        match self {
            Self::Sqlite(row) => Ok(read(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?)),
            Self::Postgres(row) => row::get(row, column).map(read),
        }
    }

    pub(crate) fn timestamp(&self, column: usize) -> Result<Timestamp, Error> {
        Ok(Timestamp::from_micros(self.int(column)?))
    }

    pub(crate) fn user_id(&self, column: usize) -> Result<UserId, Error> {
        Ok(UserId(self.int(column)?))
    }

    pub(crate) fn post_id(&self, column: usize) -> Result<PostId, Error> {
        Ok(PostId(self.int(column)?))
    }

    pub(crate) fn photo_id(&self, column: usize) -> Result<PhotoId, Error> {
        match self {
            Self::Sqlite(row) => Ok(PhotoId::from_bytes(row.get(column)?)),
            Self::Postgres(row) => row::uuid(row, column).map(PhotoId::from_bytes),
        }
    }

    pub(crate) fn is_null(&self, column: usize) -> Result<bool, Error> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)? == rusqlite::types::ValueRef::Null),
            Self::Postgres(row) => row::is_null(row, column),
        }
    }
}
