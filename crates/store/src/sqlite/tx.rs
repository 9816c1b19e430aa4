//! An SQLite connection and the transaction on it: control, queries, and the recorded changes.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::connection;
use crate::changes::Change;
use crate::error::Error;
use crate::row::Row;
use crate::value::{BoundStatement, Value};

const INTEGRITY_CHECK: &str = "SELECT integrity_check FROM pragma_integrity_check LIMIT 20";
const FOREIGN_KEY_CHECK: &str =
    "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY \"table\", parent";

/// Capacity to reserve once a query has returned a row: most queries for many rows select a page of the feed.
const ROWS_RESERVED: usize = 20;

#[derive(Debug)]
pub(crate) struct SqliteTx {
    conn: Connection,
    /// What the open transaction publishes.
    changes: Vec<Change>,
}

/// Control: only the threads of `sqlite` own this type, so only they can begin, commit or checkpoint.
impl SqliteTx {
    pub(super) fn new(conn: Connection) -> Self {
        Self { conn, changes: Vec::new() }
    }

    /// Runs BEGIN, COMMIT, SAVEPOINT or another control statement.
    pub(super) fn control(&self, sql: &'static str) -> Result<(), Error> {
        self.execute((sql, &[])).map(drop)
    }

    /// The error is SQLite's own, for its extended code.
    pub(super) fn commit(&self) -> rusqlite::Result<()> {
        self.conn.prepare_cached("COMMIT")?.execute([]).map(drop)
    }

    /// Whether a transaction is open. SQLite rolls it back by itself when the disk fails or is full.
    pub(super) fn is_open(&self) -> bool {
        !self.conn.is_autocommit()
    }

    /// Rolls back the open transaction, if there is one.
    pub(super) fn rollback_if_open(&self) -> Result<(), Error> {
        if self.is_open() { self.control("ROLLBACK") } else { Ok(()) }
    }

    /// See [`connection::checkpoint`].
    pub(super) fn checkpoint(&self) -> Result<bool, Error> {
        connection::checkpoint(&self.conn)
    }

    pub(super) fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// Drops the changes of a job that was rolled back to its savepoint.
    pub(super) fn truncate_changes(&mut self, count: usize) {
        self.changes.truncate(count);
    }

    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }
}

/// Queries; each statement is prepared once.
impl SqliteTx {
    pub(crate) fn publish(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(crate) fn execute(&self, (sql, params): BoundStatement<'_>) -> Result<usize, Error> {
        Ok(self.conn.prepare_cached(sql)?.execute(params_from_iter(params))?)
    }

    pub(crate) fn execute_each(&self, sql: &'static str, rows: &[Vec<Value<'_>>]) -> Result<usize, Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut affected = 0;
        for params in rows {
            affected += statement.execute(params_from_iter(params))?;
        }
        Ok(affected)
    }

    pub(crate) fn first<T>(
        &self,
        (sql, params): BoundStatement<'_>,
        read: impl FnOnce(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        let found = match rows.next()? {
            Some(row) => Some(read(&Row::Sqlite(row))?),
            None => None,
        };
        // A statement with RETURNING is complete only after it was stepped to its end.
        while rows.next()?.is_some() {}
        Ok(found)
    }

    pub(crate) fn all<T>(
        &self,
        query: BoundStatement<'_>,
        read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.page(usize::MAX, query, read).map(|(all, _)| all)
    }

    /// At most `limit` rows, and whether there are more.
    pub(crate) fn page<T>(
        &self,
        limit: usize,
        (sql, params): BoundStatement<'_>,
        mut read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<(Vec<T>, bool), Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if found.len() == limit {
                return Ok((found, true));
            }
            if found.is_empty() {
                found.reserve(ROWS_RESERVED);
            }
            found.push(read(&Row::Sqlite(row))?);
        }
        Ok((found, false))
    }

    /// The first `limit` rows that `is_kept` accepts; others are not decoded, and later ones not read.
    pub(crate) fn filtered<T>(
        &self,
        limit: usize,
        (sql, params): BoundStatement<'_>,
        read: impl Fn(&Row<'_, '_>) -> Result<T, Error>,
        mut is_kept: impl FnMut(&Row<'_, '_>) -> Result<bool, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        let mut kept = Vec::with_capacity(ROWS_RESERVED);
        while kept.len() < limit
            && let Some(row) = rows.next()?
        {
            let row = Row::Sqlite(row);
            if is_kept(&row)? {
                kept.push(read(&row)?);
            }
        }
        Ok(kept)
    }

    pub(crate) fn last_id(&self, table: &str) -> Result<Option<i64>, Error> {
        self.first(("SELECT seq FROM sqlite_sequence WHERE name = $1", &[table.into()]), |row| row.int(0))
    }

    pub(crate) fn set_sequence(&self, table: &str, last: i64) -> Result<(), Error> {
        // The table's row exists after its first insert, and `sqlite_sequence` has no unique key to upsert
        // on.
        self.execute(("DELETE FROM sqlite_sequence WHERE name = $1", &[table.into()]))?;
        let insert = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
        self.execute((insert, &[table.into(), last.into()])).map(drop)
    }

    /// SQLite's messages on damaged pages, and foreign keys without a parent row.
    pub(crate) fn integrity_errors(&self) -> Result<Vec<String>, Error> {
        let mut errors = self.all((INTEGRITY_CHECK, &[]), |row| row.text(0))?;
        errors.retain(|line| line != "ok");
        errors.extend(self.all((FOREIGN_KEY_CHECK, &[]), |row| {
            let (table, parent, rows) = (row.text(0)?, row.text(1)?, row.int(2)?);
            Ok(format!("{rows} rows of {table} reference missing rows of {parent}"))
        })?);
        Ok(errors)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Ok(ToSqlOutput::from(rusqlite::types::Null)),
            Self::Int(value) => value.to_sql(),
            Self::Text(value) => value.to_sql(),
            Self::Bytes(value) => value.to_sql(),
            Self::Uuid(value) => Ok(ToSqlOutput::Borrowed(ValueRef::Blob(*value))),
        }
    }
}
