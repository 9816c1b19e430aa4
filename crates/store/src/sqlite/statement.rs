//! Statements on a connection to SQLite, prepared once.

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::Error;
use crate::row::Row;
use crate::value::Value;

/// Who finds anything finds a page mostly.
const A_PAGE: usize = 20;

pub(crate) fn execute(conn: &Connection, sql: &'static str, params: &[Value<'_>]) -> Result<usize, Error> {
    Ok(conn.prepare_cached(sql)?.execute(params_from_iter(params))?)
}

pub(crate) fn execute_each(
    conn: &Connection,
    sql: &'static str,
    rows: &[Vec<Value<'_>>],
) -> Result<usize, Error> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut touched = 0;
    for params in rows {
        touched += statement.execute(params_from_iter(params))?;
    }
    Ok(touched)
}

pub(crate) fn first<T>(
    conn: &Connection,
    sql: &'static str,
    params: &[Value<'_>],
    read: impl FnOnce(&Row<'_, '_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(params))?;
    let found = match rows.next()? {
        Some(row) => Some(read(&Row::Sqlite(row))?),
        None => None,
    };
    // A statement that writes and returns is only done when it has been stepped to its end.
    while rows.next()?.is_some() {}
    Ok(found)
}

pub(crate) fn all<T>(
    conn: &Connection,
    sql: &'static str,
    params: &[Value<'_>],
    read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    page(conn, usize::MAX, sql, params, read).map(|(all, _)| all)
}

/// The first rows, no more than `limit`, and whether there are more of them, which are not read.
pub(crate) fn page<T>(
    conn: &Connection,
    limit: usize,
    sql: &'static str,
    params: &[Value<'_>],
    mut read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
) -> Result<(Vec<T>, bool), Error> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(params))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() == limit {
            return Ok((found, true));
        }
        if found.is_empty() {
            found.reserve(A_PAGE);
        }
        found.push(read(&Row::Sqlite(row))?);
    }
    Ok((found, false))
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
