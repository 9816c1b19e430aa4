//! A transaction under way: what the statements of every noun run on.
//!
//! The methods are `async` because PostgreSQL answers across a network; on SQLite they are always ready, which lets
//! its threads run them to the end in one poll.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use model::Timestamp;
use rusqlite::Connection;

use crate::postgres::Session;
use crate::row::Row;
use crate::sqlite::{connection, health, sequence, statement};
use crate::value::Value;
use crate::{Change, Error};

#[derive(Debug)]
pub(crate) struct Tx {
    on: On,
    /// What the open transaction changes, as far as anybody keeps copies of it.
    changes: Vec<Change>,
}

/// The database it runs on. No statement and no noun knows which.
#[derive(Debug)]
enum On {
    Sqlite(Connection),
    Postgres(Box<Session>),
}

/// A statement and its parameters.
pub(crate) type Bound<'a> = (&'static str, &'a [Value<'a>]);

impl Tx {
    pub(crate) fn on_sqlite(conn: Connection) -> Self {
        Self { on: On::Sqlite(conn), changes: Vec::new() }
    }

    pub(crate) fn on_postgres(session: Session) -> Self {
        Self { on: On::Postgres(Box::new(session)), changes: Vec::new() }
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

    // What PostgreSQL is asked lies in a box, so that SQLite's futures stay as small as they are without it.

    /// Runs a statement; tells how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<usize, Error> {
        match &mut self.on {
            On::Sqlite(conn) => statement::execute(conn, sql, params),
            On::Postgres(session) => Box::pin(session.execute((sql, params))).await,
        }
    }

    /// Runs a statement that adds `$1` to a number in row `$2`. On PostgreSQL it runs right before the commit, once for
    /// all that is added to the same row: whoever else wants the row on another node waits no longer than that takes.
    pub(crate) async fn add(&mut self, sql: &'static str, by: i64, to: i64) -> Result<(), Error> {
        match &mut self.on {
            On::Sqlite(conn) => statement::execute(conn, sql, &[by.into(), to.into()]).map(drop),
            On::Postgres(session) => {
                session.add(sql, by, to);
                Ok(())
            }
        }
    }

    /// Runs a statement once for each of `rows`; tells how many rows it touched in all.
    pub(crate) async fn execute_each(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        match &mut self.on {
            On::Sqlite(conn) => statement::execute_each(conn, sql, rows),
            On::Postgres(session) => Box::pin(session.execute_each(sql, rows)).await,
        }
    }

    /// The first row, if there is one.
    pub(crate) async fn first<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match &mut self.on {
            On::Sqlite(conn) => statement::first(conn, sql, params, read),
            On::Postgres(session) => {
                let rows = Box::pin(session.rows((sql, params))).await?;
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
        match &mut self.on {
            On::Sqlite(conn) => statement::all(conn, sql, params, read),
            On::Postgres(session) => {
                let rows = Box::pin(session.rows((sql, params))).await?;
                rows.iter().map(|row| read(&Row::Postgres(row))).collect()
            }
        }
    }

    /// The first rows, no more than `limit`, and whether there are more of them.
    pub(crate) async fn page<T>(
        &mut self,
        limit: usize,
        (sql, params): Bound<'_>,
        mut read: impl FnMut(&Row<'_, '_>) -> Result<T, Error>,
    ) -> Result<(Vec<T>, bool), Error> {
        match &mut self.on {
            On::Sqlite(conn) => statement::page(conn, limit, sql, params, read),
            On::Postgres(session) => {
                let rows = Box::pin(session.rows((sql, params))).await?;
                let found = rows.iter().take(limit).map(|row| read(&Row::Postgres(row)));
                Ok((found.collect::<Result<_, Error>>()?, rows.len() > limit))
            }
        }
    }

    /// The last id that was handed out in a table, whether or not its row is still there.
    pub(crate) async fn last_id(&mut self, table: &'static str) -> Result<i64, Error> {
        let last = match &mut self.on {
            On::Sqlite(conn) => sequence::last(conn, table)?,
            On::Postgres(session) => Box::pin(session.last_id(table)).await?,
        };
        Ok(last.unwrap_or(0))
    }

    /// From now on ids in a table begin behind `last`.
    pub(crate) async fn hand_out_after(&mut self, table: &'static str, last: i64) -> Result<(), Error> {
        match &mut self.on {
            On::Sqlite(conn) => sequence::move_to(conn, table, last),
            On::Postgres(session) => Box::pin(session.hand_out_after(table, last)).await,
        }
    }

    /// What the database itself finds wrong with its files and references, where it can tell.
    pub(crate) async fn complaints(&mut self) -> Result<Vec<String>, Error> {
        match &mut self.on {
            On::Sqlite(conn) => health::complaints(conn),
            // It checks its pages when it reads them, and its references when they are written.
            On::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// What the database takes the time to be, where that is not this machine's own clock.
    pub(crate) async fn clock(&mut self) -> Result<Option<Timestamp>, Error> {
        match &mut self.on {
            On::Sqlite(_) => Ok(None),
            On::Postgres(session) => Box::pin(session.clock()).await.map(Some),
        }
    }

    /// BEGIN, SAVEPOINT and their kin, on SQLite.
    pub(crate) fn control(&mut self, sql: &'static str) -> Result<(), Error> {
        statement::execute(self.sqlite(), sql, &[]).map(drop)
    }

    /// Whether a transaction is open; SQLite ends one by itself when the disk fails.
    pub(crate) fn is_open(&mut self) -> bool {
        !self.sqlite().is_autocommit()
    }

    /// Empties SQLite's log, unless somebody reads from it.
    pub(crate) fn empty_log(&mut self) -> Result<bool, Error> {
        connection::empty_log(self.sqlite())
    }

    fn sqlite(&mut self) -> &mut Connection {
        match &mut self.on {
            On::Sqlite(conn) => conn,
            On::Postgres(_) => unreachable!("SQLite's threads have none but their own"),
        }
    }

    /// Whether its connection has ended.
    pub(crate) fn is_lost(&self) -> bool {
        match &self.on {
            On::Sqlite(_) => false,
            On::Postgres(session) => session.is_closed(),
        }
    }

    /// The connection itself, for those who begin and commit on it.
    pub(crate) fn session(&mut self) -> &mut Session {
        match &mut self.on {
            On::Postgres(session) => session,
            On::Sqlite(_) => unreachable!("PostgreSQL's tasks have none but their own"),
        }
    }
}

/// Runs a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("SQLite answers at once, and transactions await nothing else"),
    }
}
