//! A PostgreSQL connection and the transaction on it: control, queries, and the recorded changes.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::{join_all, join4, try_join};
use model::{Timestamp, UserId, error_chain};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::error::confirms_rollback;
use super::row;
use crate::changes::{Change, encode};
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::value::{BoundStatement, Value};

/// For the response to COMMIT. It waits for the server's disk and for a synchronous standby, without a limit
/// on the server's side.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(4);

/// For a whole transaction in one round trip: longer than the statement timeout, within which the server
/// waits for locks, so that normally the server cancels it first.
const PIPELINE_TIMEOUT: Duration = Duration::from_secs(6);

/// For a rollback, which waits for nothing on the server.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(2);

/// The id of the transaction is the column's default.
const INSERT_CHANGES: &str = "INSERT INTO changes (encoded) VALUES ($1)";

pub(crate) struct PostgresTx {
    client: Client,
    /// The task that drives the connection; aborted when this is dropped.
    connection_task: AbortHandle,
    prepared: HashMap<&'static str, Statement>,
    /// A statement of the transaction failed, so the server rejects all further ones.
    failed: bool,
    /// The changes of the open transaction, written right before the commit.
    changes: Vec<Change>,
}

/// Why a transaction was not committed.
#[derive(Debug)]
pub(super) enum CommitError {
    RolledBack(Error),
    /// COMMIT was sent and not answered: PostgreSQL's "transaction resolution unknown", SQLSTATE 08007.
    Unknown(Error),
}

/// The posts and users whose advisory locks a transaction takes, in locking order. A lock has two keys of 32
/// bits: the oid of the table, which differs between services that share a database, and the low 31 bits of
/// the id.
#[derive(Debug)]
pub(super) struct AdvisoryLocks {
    posts: Vec<i32>,
    users: Vec<i32>,
}

impl AdvisoryLocks {
    pub(super) fn of<'a>(keys: impl Iterator<Item = &'a LockKey> + Clone) -> Self {
        Self {
            posts: sorted(keys.clone().filter_map(|key| Some(key.post()?.0))),
            users: sorted(keys.filter_map(|key| Some(key.user()?.0))),
        }
    }

    fn is_empty(&self) -> bool {
        self.posts.is_empty() && self.users.is_empty()
    }
}

fn sorted(ids: impl Iterator<Item = i64>) -> Vec<i32> {
    let mut keys: Vec<i32> = ids.map(|id| (id & i64::from(i32::MAX)) as i32).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Takes [`AdvisoryLocks`] until the end of the transaction.
///
/// `pinhole.locked` is set until the end of the transaction too, so that a statement which must not run
/// without the locks can be sent before the response to this one.
const LOCK: &str = "SELECT set_config('pinhole.locked', 'yes', true), pg_advisory_xact_lock(class, id) FROM (
        SELECT CAST(CAST('posts' AS regclass) AS oid)::int AS class, id FROM unnest(CAST($1 AS INT[])) AS id
        UNION ALL
        SELECT CAST(CAST('users' AS regclass) AS oid)::int, id FROM unnest(CAST($2 AS INT[])) AS id
    ) AS locks";

/// A statement that only PostgreSQL understands, with arrays as parameters.
pub(super) type ArrayStatement<'a> = (&'static str, &'a [&'a (dyn ToSql + Sync)]);

/// Control: only the tasks of `postgres` own this type, so only they can begin, lock and commit.
impl PostgresTx {
    pub(super) fn new(client: Client, connection_task: AbortHandle) -> Self {
        Self { client, connection_task, prepared: HashMap::new(), failed: false, changes: Vec::new() }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Begins a transaction, and takes advisory locks until its end, in one round trip: if BEGIN failed, the
    /// locks would be released at once. Row locks are not fair: concurrent likes of a post could starve a
    /// delete of it.
    pub(super) async fn begin(&mut self, locks: &AdvisoryLocks) -> Result<(), Error> {
        self.failed = false;
        self.changes.clear();
        let begun = if locks.is_empty() {
            self.client.batch_execute("BEGIN").await
        } else {
            let lock = self.prepare(LOCK).await?;
            let params: [&(dyn ToSql + Sync); 2] = [&locks.posts, &locks.users];
            let (begin, lock) = (self.client.batch_execute("BEGIN"), self.client.execute(&lock, &params));
            try_join(begin, lock).await.map(drop)
        };
        self.track_error(begun)
    }

    /// Runs a whole transaction in one round trip: begins it, takes advisory locks, executes the statements
    /// and commits. After a failed statement the server rejects the following ones
    /// and answers COMMIT with a rollback; if BEGIN itself failed, `pinhole.locked` is not set.
    pub(super) async fn run_pipelined(
        &mut self,
        locks: &AdvisoryLocks,
        statements: &[ArrayStatement<'_>],
    ) -> Result<Vec<Vec<Row>>, CommitError> {
        let prepare = async {
            let lock = self.prepare(LOCK).await?;
            let mut prepared = Vec::with_capacity(statements.len());
            for (sql, params) in statements {
                prepared.push((self.prepare(sql).await?, *params));
            }
            Ok((lock, prepared))
        };
        let prepared = timeout(PIPELINE_TIMEOUT, prepare).await.unwrap_or_else(|_| Err(commit_timed_out()));
        let (lock, prepared) = prepared.map_err(CommitError::RolledBack)?;
        let lock_params: [&(dyn ToSql + Sync); 2] = [&locks.posts, &locks.users];
        let queries = prepared.iter().map(|(statement, params)| self.client.query(statement, params));
        // Sent in this order, since a request is sent when its future is polled first.
        let responses = join4(
            self.client.batch_execute("BEGIN"),
            self.client.execute(&lock, &lock_params),
            join_all(queries),
            self.client.batch_execute("COMMIT"),
        );
        let (begun, locked, rows, committed) = timeout(PIPELINE_TIMEOUT, responses)
            .await
            .map_err(|_| CommitError::Unknown(commit_timed_out()))?;
        let executed = begun.and(locked).and_then(|_| rows.into_iter().collect());
        match (executed, committed) {
            (Ok(rows), Ok(())) => Ok(rows),
            (Err(error), _) | (_, Err(error)) => Err(commit_error(error)),
        }
    }

    /// Writes the recorded changes.
    pub(super) async fn flush_changes(&mut self) -> Result<(), Error> {
        let changes = encode(&std::mem::take(&mut self.changes));
        if changes.is_empty() {
            return Ok(());
        }
        self.execute((INSERT_CHANGES, &[Value::Bytes(&changes)])).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), CommitError> {
        // The server would answer COMMIT with ROLLBACK, which the client reports as success.
        if self.failed {
            return Err(CommitError::RolledBack(Error::Database("commit after a failed statement".into())));
        }
        match timeout(COMMIT_TIMEOUT, self.client.batch_execute("COMMIT")).await {
            Ok(committed) => committed.map_err(commit_error),
            Err(_) => Err(CommitError::Unknown(commit_timed_out())),
        }
    }

    /// Waits without a limit for the response to an unanswered commit.
    pub(super) async fn await_commit(&mut self) {
        // The server answers this after the commit. Its outcome is not used: the callers were answered
        // already.
        drop(self.client.simple_query("").await);
    }

    /// Returns whether the connection can be used again. If not, it must be dropped, which rolls back too.
    pub(super) async fn rollback(&mut self) -> bool {
        matches!(timeout(ROLLBACK_TIMEOUT, self.client.batch_execute("ROLLBACK")).await, Ok(Ok(())))
    }
}

/// Queries; each statement is prepared once.
impl PostgresTx {
    pub(crate) fn publish(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(crate) async fn execute(&mut self, (sql, params): BoundStatement<'_>) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let affected = self.client.execute_raw(&statement, params.iter().copied()).await;
        let affected = self.track_error(affected)?;
        usize::try_from(affected).map_err(|_| Error::Corrupt(format!("{affected} rows at once")))
    }

    /// Pipelines all executions instead of awaiting each response.
    pub(crate) async fn execute_each(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let sent = rows.iter().map(|params| self.client.execute_raw(&statement, params.iter().copied()));
        let affected: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        let affected: u64 = self.track_error(affected)?.into_iter().sum();
        usize::try_from(affected).map_err(|_| Error::Corrupt(format!("{affected} rows at once")))
    }

    pub(crate) async fn rows(&mut self, (sql, params): BoundStatement<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql).await?;
        let rows = async {
            let rows = pin!(self.client.query_raw(&statement, params.iter().copied()).await?);
            rows.try_collect::<Vec<Row>>().await
        };
        let rows = rows.await;
        self.track_error(rows)
    }

    pub(crate) async fn last_id(&mut self, table: &str) -> Result<Option<i64>, Error> {
        const LAST: &str =
            "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence(CAST($1 AS TEXT), 'id') AS regclass))";
        let rows = self.rows((LAST, &[table.into()])).await?;
        match rows.first() {
            Some(row) if !row::is_null(row, 0)? => row::int(row, 0).map(Some),
            _ => Ok(None),
        }
    }

    /// Takes effect at once, even if the transaction is rolled back, like `setval` does.
    pub(crate) async fn set_sequence(&mut self, table: &str, last: i64) -> Result<(), Error> {
        const SET: &str = "SELECT setval(CAST(pg_get_serial_sequence(CAST($1 AS TEXT), 'id') AS regclass),
            greatest(CAST($2 AS BIGINT), 1), CAST($2 AS BIGINT) > 0)";
        self.rows((SET, &[table.into(), last.into()])).await.map(drop)
    }

    pub(crate) async fn clock(&mut self) -> Result<Timestamp, Error> {
        let now = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";
        let rows = self.rows((now, &[])).await?;
        let row = rows.first().ok_or_else(|| Error::Corrupt("the clock returned no row".into()))?;
        row::int(row, 0).map(Timestamp::from_micros)
    }

    /// Whether no other transaction has a snapshot from before the user's row was last changed.
    pub(crate) async fn is_settled(&mut self, user: UserId) -> Result<bool, Error> {
        const OLDER: &str = "SELECT count(*) FROM users u JOIN pg_stat_activity a
            ON a.datname = current_database() AND a.pid <> pg_backend_pid()
            AND greatest(age(a.backend_xmin), age(a.backend_xid)) >= age(u.xmin)
            WHERE u.id = $1";
        let rows = self.rows((OLDER, &[user.into()])).await?;
        let row = rows.first().ok_or_else(|| Error::Corrupt("a count returned no row".into()))?;
        Ok(row::int(row, 0)? == 0)
    }

    /// `likes` has no foreign keys.
    pub(crate) async fn reference_errors(&mut self) -> Result<Vec<String>, Error> {
        const ORPHANS: &str = "SELECT
            (SELECT count(*) FROM likes l WHERE NOT EXISTS (SELECT 1 FROM posts p WHERE p.id = l.post_id)),
            (SELECT count(*) FROM likes l WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = l.user_id))";
        let rows = self.rows((ORPHANS, &[])).await?;
        let row = rows.first().ok_or_else(|| Error::Corrupt("a count returned no row".into()))?;
        let mut errors = Vec::new();
        for (column, parent) in ["posts", "users"].into_iter().enumerate() {
            match row::int(row, column)? {
                0 => {}
                orphans => errors.push(format!("{orphans} rows of likes reference missing rows of {parent}")),
            }
        }
        Ok(errors)
    }

    async fn prepare(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let prepared = self.client.prepare(sql).await;
        let statement = self.track_error(prepared)?;
        self.prepared.insert(sql, statement.clone());
        Ok(statement)
    }

    fn track_error<T>(&mut self, outcome: Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        self.failed |= outcome.is_err();
        Ok(outcome?)
    }
}

fn commit_error(error: tokio_postgres::Error) -> CommitError {
    if confirms_rollback(&error) {
        CommitError::RolledBack(error.into())
    } else {
        CommitError::Unknown(Error::Unavailable(error_chain(&error).into()))
    }
}

fn commit_timed_out() -> Error {
    Error::Unavailable("the server did not answer a commit in time".into())
}

/// Closes the connection at once, without waiting for a network timeout: its open transaction has locks.
impl Drop for PostgresTx {
    fn drop(&mut self) {
        self.connection_task.abort();
    }
}

impl fmt::Debug for PostgresTx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTx").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
