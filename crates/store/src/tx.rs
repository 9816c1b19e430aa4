//! The query methods that the statements of every table run on, whichever database is behind them.
//!
//! They are `async` because PostgreSQL answers across a network. On SQLite they never wait, so its threads
//! run a transaction's work in one poll.

use model::Timestamp;

use crate::changes::Change;
use crate::error::Error;
use crate::postgres::tx::PostgresTx;
use crate::row::Row;
use crate::sqlite::tx::SqliteTx;
use crate::value::{Bound, Value};

/// A borrowed transaction. It has no control methods: the backend that began the transaction keeps its
/// handle, and ends it.
#[derive(Debug)]
pub(crate) enum Tx<'c> {
    Sqlite(&'c mut SqliteTx),
    Postgres(&'c mut PostgresTx),
}

impl Tx<'_> {
    /// Records a change for the listener, which is called when the transaction is committed.
    pub(crate) fn record_change(&mut self, change: Change) {
        match self {
            Self::Sqlite(tx) => tx.record_change(change),
            Self::Postgres(tx) => tx.record_change(change),
        }
    }

    // PostgreSQL's futures are boxed, so that SQLite's stay small.

    /// Runs a statement; returns how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<usize, Error> {
        match self {
            Self::Sqlite(tx) => tx.execute((sql, params)),
            Self::Postgres(tx) => Box::pin(tx.execute((sql, params))).await,
        }
    }

    /// Runs a statement that adds `$1` to a number in row `$2`. On PostgreSQL it runs right before the
    /// commit, once for all deltas of the same row: other nodes wait for the row's lock no longer than the
    /// commit takes.
    pub(crate) async fn add(&mut self, sql: &'static str, delta: i64, row: i64) -> Result<(), Error> {
        match self {
            Self::Sqlite(tx) => tx.execute((sql, &[delta.into(), row.into()])).map(drop),
            Self::Postgres(tx) => {
                tx.record_delta(sql, delta, row);
                Ok(())
            }
        }
    }

    /// Runs a statement once for each of `rows`; returns how many rows it touched in all.
    pub(crate) async fn execute_each(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        match self {
            Self::Sqlite(tx) => tx.execute_each(sql, rows),
            Self::Postgres(tx) => Box::pin(tx.execute_each(sql, rows)).await,
        }
    }

    /// The first row, if there is one.
    pub(crate) async fn first<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self {
            Self::Sqlite(tx) => tx.first((sql, params), read),
            Self::Postgres(tx) => {
                let rows = Box::pin(tx.rows((sql, params))).await?;
                rows.first().map(|row| read(&Row::Postgres(row))).transpose()
            }
        }
    }

    /// Every row.
    pub(crate) async fn all<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        match self {
            Self::Sqlite(tx) => tx.all((sql, params), read),
            Self::Postgres(tx) => {
                let rows = Box::pin(tx.rows((sql, params))).await?;
                rows.iter().map(|row| read(&Row::Postgres(row))).collect()
            }
        }
    }

    /// The first rows, no more than `limit`, and whether there are more of them.
    pub(crate) async fn page<T>(
        &mut self,
        limit: usize,
        query: Bound<'_>,
        mut read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<(Vec<T>, bool), Error> {
        match self {
            Self::Sqlite(tx) => tx.page(limit, query, read),
            Self::Postgres(tx) => {
                let rows = Box::pin(tx.rows(query)).await?;
                let found = rows.iter().take(limit).map(|row| read(&Row::Postgres(row)));
                Ok((found.collect::<Result<_, Error>>()?, rows.len() > limit))
            }
        }
    }

    /// The last id of a table's sequence, whether or not its row still exists.
    pub(crate) async fn last_id(&mut self, table: &str) -> Result<i64, Error> {
        let last = match self {
            Self::Sqlite(tx) => tx.last_id(table)?,
            Self::Postgres(tx) => Box::pin(tx.last_id(table)).await?,
        };
        Ok(last.unwrap_or(0))
    }

    /// Makes `last + 1` the next id of a table's sequence.
    pub(crate) async fn set_sequence(&mut self, table: &str, last: i64) -> Result<(), Error> {
        match self {
            Self::Sqlite(tx) => tx.set_sequence(table, last),
            Self::Postgres(tx) => Box::pin(tx.set_sequence(table, last)).await,
        }
    }

    /// What the database itself finds wrong with its files and references, where it can tell.
    pub(crate) async fn integrity_errors(&mut self) -> Result<Vec<String>, Error> {
        match self {
            Self::Sqlite(tx) => tx.integrity_errors(),
            // PostgreSQL checks pages when it reads them and references when they are written.
            Self::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// The database server's time; `None` where the database runs in this process.
    pub(crate) async fn clock(&mut self) -> Result<Option<Timestamp>, Error> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres(tx) => Box::pin(tx.clock()).await.map(Some),
        }
    }
}
