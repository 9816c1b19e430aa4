//! A transaction under way: what the statements of every noun run on.
//!
//! The methods are `async` so that a database across a network can stand behind them; on SQLite they
//! are always ready, which lets its threads run them to the end in one poll.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use model::{PhotoId, PostId, Timestamp, TokenHash, UserId};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::{Change, Error};

#[derive(Debug)]
pub(crate) struct Tx {
    conn: Connection,
    /// What the open transaction changes, as far as anybody keeps copies of it.
    changes: Vec<Change>,
}

impl Tx {
    pub(crate) fn new(conn: Connection) -> Self {
        Self { conn, changes: Vec::new() }
    }

    /// Notes a change, to be told when it is committed.
    pub(crate) fn note(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// How many changes are noted.
    pub(crate) fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Takes back the notes of work that is rolled back.
    pub(crate) fn forget_changes_after(&mut self, count: usize) {
        self.changes.truncate(count);
    }

    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Runs a statement; tells how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<usize, Error> {
        Ok(self.conn.prepare_cached(sql)?.execute(params_from_iter(params))?)
    }

    /// Runs a statement once for each of `rows`; tells how many rows it touched in all.
    pub(crate) async fn execute_each(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut touched = 0;
        for params in rows {
            touched += statement.execute(params_from_iter(params))?;
        }
        Ok(touched)
    }

    /// The first row, if there is one.
    pub(crate) async fn first<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        let found = match rows.next()? {
            Some(row) => Some(read(&Row(row))?),
            None => None,
        };
        // A statement that writes and returns is only done when it has been stepped to its end.
        while rows.next()?.is_some() {}
        Ok(found)
    }

    /// Every row.
    pub(crate) async fn all<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(&Row(row))?);
        }
        Ok(found)
    }

    /// The last id that was handed out in a table, whether or not its row is still there.
    pub(crate) async fn last_id(&mut self, table: &'static str) -> Result<i64, Error> {
        let last = "SELECT seq FROM sqlite_sequence WHERE name = $1";
        Ok(self.first(last, &[table.into()], |row| row.int(0)).await?.unwrap_or(0))
    }

    /// From now on ids in a table begin behind `last`.
    pub(crate) async fn hand_out_after(&mut self, table: &'static str, last: i64) -> Result<(), Error> {
        self.execute("DELETE FROM sqlite_sequence WHERE name = $1", &[table.into()]).await?;
        let insert = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
        self.execute(insert, &[table.into(), last.into()]).await.map(drop)
    }

    /// BEGIN, SAVEPOINT and their kin.
    pub(crate) fn control(&mut self, sql: &'static str) -> Result<(), Error> {
        self.conn.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Whether a transaction is open; SQLite ends one by itself when the disk fails.
    pub(crate) fn is_open(&self) -> bool {
        !self.conn.is_autocommit()
    }
}

/// Runs a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("SQLite answers at once, and transactions await nothing else"),
    }
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Ok(ToSqlOutput::from(rusqlite::types::Null)),
            Self::Int(value) => value.to_sql(),
            Self::Text(value) => value.to_sql(),
            Self::Bytes(value) => value.to_sql(),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }
}

impl From<UserId> for Value<'_> {
    fn from(id: UserId) -> Self {
        Self::Int(id.0)
    }
}

impl From<PostId> for Value<'_> {
    fn from(id: PostId) -> Self {
        Self::Int(id.0)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(moment: Timestamp) -> Self {
        Self::Int(moment.micros())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a PhotoId> for Value<'a> {
    fn from(id: &'a PhotoId) -> Self {
        Self::Bytes(id.as_bytes())
    }
}

impl<'a> From<Option<&'a PhotoId>> for Value<'a> {
    fn from(id: Option<&'a PhotoId>) -> Self {
        id.map_or(Self::Null, Self::from)
    }
}

impl<'a> From<&'a TokenHash> for Value<'a> {
    fn from(hash: &'a TokenHash) -> Self {
        Self::Bytes(&hash.0)
    }
}

/// A row of an answer, read by position.
pub(crate) struct Row<'r, 's>(&'r rusqlite::Row<'s>);

impl Row<'_, '_> {
    pub(crate) fn int(&self, column: usize) -> Result<i64, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn unsigned<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Error> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|_| Error::Corrupt(format!("{value} in column {column}")))
    }

    pub(crate) fn bool(&self, column: usize) -> Result<bool, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<String>, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, Error> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn moment(&self, column: usize) -> Result<Timestamp, Error> {
        Ok(Timestamp::from_micros(self.int(column)?))
    }

    pub(crate) fn user_id(&self, column: usize) -> Result<UserId, Error> {
        Ok(UserId(self.int(column)?))
    }

    pub(crate) fn post_id(&self, column: usize) -> Result<PostId, Error> {
        Ok(PostId(self.int(column)?))
    }

    pub(crate) fn photo_id(&self, column: usize) -> Result<PhotoId, Error> {
        Ok(PhotoId::from_bytes(self.0.get(column)?))
    }

    pub(crate) fn is_null(&self, column: usize) -> Result<bool, Error> {
        Ok(self.0.get_ref(column)? == rusqlite::types::ValueRef::Null)
    }
}
