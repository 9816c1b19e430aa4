//! The query methods of a transaction, for both backends. They are `async` because PostgreSQL answers over a
//! network; on SQLite they never wait, so its threads run a transaction's work in one poll.

use model::{Timestamp, UserId};

use crate::changes::Change;
use crate::error::Error;
use crate::postgres::tx::PostgresTx;
use crate::row::Row;
use crate::sqlite::tx::SqliteTx;
use crate::value::{BoundStatement, Value};

/// A borrowed transaction. It has no control methods: only the backend that began it can commit it or roll it
/// back.
#[derive(Debug)]
pub(crate) enum Tx<'c> {
    Sqlite(&'c mut SqliteTx),
    Postgres(&'c mut PostgresTx),
}

impl Tx<'_> {
    /// Publishes what the transaction changes, once it is committed.
    pub(crate) fn publish(&mut self, change: impl Into<Change>) {
        match self {
            Self::Sqlite(tx) => tx.publish(change.into()),
            Self::Postgres(tx) => tx.publish(change.into()),
        }
    }

    // PostgreSQL's futures are boxed, which keeps SQLite's small.

    /// Runs a statement; returns the number of affected rows.
    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<usize, Error> {
        match self {
            Self::Sqlite(tx) => tx.execute((sql, params)),
            Self::Postgres(tx) => Box::pin(tx.execute((sql, params))).await,
        }
    }

    /// Runs a statement once with each of `rows` as parameters; returns the number of affected rows.
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

    /// All rows.
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

    /// At most `limit` rows, and whether there are more.
    pub(crate) async fn page<T>(
        &mut self,
        limit: usize,
        query: BoundStatement<'_>,
        read: impl Fn(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<(Vec<T>, bool), Error> {
        match self {
            Self::Sqlite(tx) => tx.page(limit, query, read),
            Self::Postgres(tx) => {
                let rows = Box::pin(tx.rows(query)).await?;
                let page = rows.iter().take(limit).map(|row| read(&Row::Postgres(row)));
                Ok((page.collect::<Result<_, Error>>()?, rows.len() > limit))
            }
        }
    }

    /// The first `limit` rows that `is_kept` accepts; others are not decoded. SQLite does not read later
    /// rows; PostgreSQL has sent them.
    pub(crate) async fn filtered<T>(
        &mut self,
        limit: usize,
        query: BoundStatement<'_>,
        read: impl Fn(&Row<'_, '_>) -> Result<T, Error>,
        mut is_kept: impl FnMut(&Row<'_, '_>) -> Result<bool, Error>,
    ) -> Result<Vec<T>, Error> {
        match self {
            Self::Sqlite(tx) => tx.filtered(limit, query, read, is_kept),
            Self::Postgres(tx) => {
                let rows = Box::pin(tx.rows(query)).await?;
                let mut kept = Vec::with_capacity(limit);
                for row in &rows {
                    let row = Row::Postgres(row);
                    if kept.len() < limit && is_kept(&row)? {
                        kept.push(read(&row)?);
                    }
                }
                Ok(kept)
            }
        }
    }

    /// The last id that a table's sequence assigned, even if that row is deleted; 0 if none.
    pub(crate) async fn last_id(&mut self, table: &str) -> Result<i64, Error> {
        let last = match self {
            Self::Sqlite(tx) => tx.last_id(table)?,
            Self::Postgres(tx) => Box::pin(tx.last_id(table)).await?,
        };
        Ok(last.unwrap_or(0))
    }

    /// Sets a table's sequence so that `last + 1` is the next id.
    pub(crate) async fn set_sequence(&mut self, table: &str, last: i64) -> Result<(), Error> {
        match self {
            Self::Sqlite(tx) => tx.set_sequence(table, last),
            Self::Postgres(tx) => Box::pin(tx.set_sequence(table, last)).await,
        }
    }

    /// The errors that SQLite's integrity and foreign-key checks report.
    pub(crate) async fn integrity_errors(&mut self) -> Result<Vec<String>, Error> {
        match self {
            Self::Sqlite(tx) => tx.integrity_errors(),
            // PostgreSQL verifies pages when it reads them and foreign keys when they are written.
            Self::Postgres(_) => self.reference_errors().await,
        }
    }

    /// References to missing rows that no foreign key prevents.
    pub(crate) async fn reference_errors(&mut self) -> Result<Vec<String>, Error> {
        match self {
            Self::Sqlite(_) => Ok(Vec::new()),
            Self::Postgres(tx) => Box::pin(tx.reference_errors()).await,
        }
    }

    /// Whether every transaction has ended that may have begun before this user's row was last changed.
    pub(crate) async fn is_settled(&mut self, user: UserId) -> Result<bool, Error> {
        match self {
            // One writer, one write at a time.
            Self::Sqlite(_) => Ok(true),
            Self::Postgres(tx) => Box::pin(tx.is_settled(user)).await,
        }
    }

    /// The database server's time; `None` on SQLite, which runs in this process.
    pub(crate) async fn clock(&mut self) -> Result<Option<Timestamp>, Error> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres(tx) => Box::pin(tx.clock()).await.map(Some),
        }
    }
}
