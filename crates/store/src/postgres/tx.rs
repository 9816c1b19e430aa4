//! A PostgreSQL connection and the transaction on it: control, queries, and the recorded changes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use model::{Timestamp, error_chain};
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Row, Statement};

use super::error::confirms_rollback;
use super::row;
use crate::changes::{Change, encode};
use crate::error::Error;
use crate::value::{BoundStatement, Value};

/// For the response to COMMIT. It waits for the server's disk and for a synchronous standby, without a limit
/// on the server's side.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// For a rollback, which waits for nothing on the server.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(2);

/// The id of the transaction is the column's default.
const INSERT_CHANGES: &str = "INSERT INTO changes (encoded) VALUES ($1)";

pub(crate) struct PostgresTx {
    client: Client,
    /// The task that drives the connection; aborted when this is dropped.
    connection_task: AbortHandle,
    /// Locked while a statement is prepared, so that concurrent jobs prepare it once.
    prepared: AsyncMutex<HashMap<&'static str, Statement>>,
    /// A statement of the transaction failed, so the server rejects all further ones.
    failed: AtomicBool,
    /// The sums of `Tx::add` by statement and row, written right before the commit.
    deltas: Mutex<BTreeMap<(&'static str, i64), i64>>,
    /// The changes of the open transaction, written right before the commit.
    changes: Mutex<Vec<Change>>,
}

#[derive(Debug)]
pub(super) enum CommitOutcome {
    Committed,
    RolledBack(Error),
    /// COMMIT was sent and not answered: PostgreSQL's "transaction resolution unknown", SQLSTATE 08007.
    Unknown(Error),
}

/// The mode of the advisory lock on a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMode {
    Shared,
    Exclusive,
}

impl LockMode {
    /// The first key is the table's oid, which differs between services that share a database; the second the
    /// low 31 bits of the post id, since advisory locks with two keys take 32-bit integers.
    fn statement(self) -> &'static str {
        match self {
            Self::Shared => {
                "SELECT pg_advisory_xact_lock_shared(CAST(CAST('posts' AS regclass) AS oid)::int, (post & 2147483647)::int)
                 FROM unnest(CAST($1 AS BIGINT[])) AS post"
            }
            Self::Exclusive => {
                "SELECT pg_advisory_xact_lock(CAST(CAST('posts' AS regclass) AS oid)::int, (post & 2147483647)::int)
                 FROM unnest(CAST($1 AS BIGINT[])) AS post"
            }
        }
    }
}

/// Control: only the tasks of `postgres` own this type, so only they can begin, lock and commit.
impl PostgresTx {
    pub(super) fn new(client: Client, connection_task: AbortHandle) -> Self {
        Self {
            client,
            connection_task,
            prepared: AsyncMutex::default(),
            failed: AtomicBool::new(false),
            deltas: Mutex::default(),
            changes: Mutex::default(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Not pipelined with the first statement, which would be committed by itself if BEGIN failed.
    pub(super) async fn begin(&self) -> Result<(), Error> {
        self.failed.store(false, Ordering::Relaxed);
        self.deltas.lock().clear();
        self.changes.lock().clear();
        let begun = self.client.batch_execute("BEGIN").await;
        self.track_error(begun)
    }

    /// Takes the advisory locks of these posts until the end of the transaction. Row locks are not fair:
    /// concurrent likes of a post could starve a delete of it.
    pub(super) async fn lock_posts(&self, posts: &[i64], mode: LockMode) -> Result<(), Error> {
        if posts.is_empty() {
            return Ok(());
        }
        let statement = self.prepare(mode.statement()).await?;
        let locked = self.client.execute(&statement, &[&posts]).await;
        self.track_error(locked).map(drop)
    }

    /// Writes the recorded deltas, in the same order on every node, and the changes; all in one round trip.
    pub(super) async fn flush(&self) -> Result<(), Error> {
        let changes = encode(&std::mem::take(&mut *self.changes.lock()));
        let mut statements = Vec::new();
        let deltas = std::mem::take(&mut *self.deltas.lock());
        for ((sql, row), delta) in deltas {
            if delta != 0 {
                statements.push((self.prepare(sql).await?, vec![Value::Int(delta), Value::Int(row)]));
            }
        }
        if !changes.is_empty() {
            statements.push((self.prepare(INSERT_CHANGES).await?, vec![Value::Bytes(&changes)]));
        }
        let sent = statements
            .iter()
            .map(|(statement, values)| self.client.execute_raw(statement, values.iter().copied()));
        let written: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        self.track_error(written).map(drop)
    }

    pub(super) async fn commit(&self) -> CommitOutcome {
        // The server would answer COMMIT with ROLLBACK, which the client reports as success.
        if self.failed.load(Ordering::Relaxed) {
            return CommitOutcome::RolledBack(Error::Database("commit after a failed statement".into()));
        }
        match timeout(COMMIT_TIMEOUT, self.client.batch_execute("COMMIT")).await {
            Ok(Ok(())) => CommitOutcome::Committed,
            Ok(Err(error)) if confirms_rollback(&error) => CommitOutcome::RolledBack(error.into()),
            Ok(Err(error)) => CommitOutcome::Unknown(Error::Unavailable(error_chain(&error).into())),
            Err(_) => CommitOutcome::Unknown(Error::Unavailable(
                "the server did not answer a commit in time".into(),
            )),
        }
    }

    /// Waits without a limit for the response to an unanswered commit.
    pub(super) async fn await_commit(&self) {
        // The server answers this after the commit. Its outcome is not used: the callers were answered
        // already.
        drop(self.client.simple_query("").await);
    }

    /// Returns whether the connection can be used again. If not, it must be dropped, which rolls back too.
    pub(super) async fn rollback(&self) -> bool {
        matches!(timeout(ROLLBACK_TIMEOUT, self.client.batch_execute("ROLLBACK")).await, Ok(Ok(())))
    }
}

/// Queries; each statement is prepared once. Concurrent ones are pipelined.
impl PostgresTx {
    pub(crate) fn record_change(&self, change: Change) {
        self.changes.lock().push(change);
    }

    pub(crate) fn record_delta(&self, sql: &'static str, delta: i64, row: i64) {
        *self.deltas.lock().entry((sql, row)).or_default() += delta;
    }

    pub(crate) async fn execute(&self, (sql, params): BoundStatement<'_>) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let affected = self.client.execute_raw(&statement, params.iter().copied()).await;
        let affected = self.track_error(affected)?;
        usize::try_from(affected).map_err(|_| Error::Corrupt(format!("{affected} rows at once")))
    }

    /// Pipelines all executions instead of awaiting each response.
    pub(crate) async fn execute_each(
        &self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let sent = rows.iter().map(|params| self.client.execute_raw(&statement, params.iter().copied()));
        let affected: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        let affected: u64 = self.track_error(affected)?.into_iter().sum();
        usize::try_from(affected).map_err(|_| Error::Corrupt(format!("{affected} rows at once")))
    }

    pub(crate) async fn rows(&self, (sql, params): BoundStatement<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql).await?;
        let rows = async {
            let rows = pin!(self.client.query_raw(&statement, params.iter().copied()).await?);
            rows.try_collect::<Vec<Row>>().await
        };
        let rows = rows.await;
        self.track_error(rows)
    }

    pub(crate) async fn last_id(&self, table: &str) -> Result<Option<i64>, Error> {
        const LAST: &str =
            "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence(CAST($1 AS TEXT), 'id') AS regclass))";
        let rows = self.rows((LAST, &[table.into()])).await?;
        match rows.first() {
            Some(row) if !row::is_null(row, 0)? => row::int(row, 0).map(Some),
            _ => Ok(None),
        }
    }

    /// Takes effect at once, even if the transaction is rolled back, like `setval` does.
    pub(crate) async fn set_sequence(&self, table: &str, last: i64) -> Result<(), Error> {
        const SET: &str = "SELECT setval(CAST(pg_get_serial_sequence(CAST($1 AS TEXT), 'id') AS regclass),
            greatest(CAST($2 AS BIGINT), 1), CAST($2 AS BIGINT) > 0)";
        self.rows((SET, &[table.into(), last.into()])).await.map(drop)
    }

    pub(crate) async fn clock(&self) -> Result<Timestamp, Error> {
        let now = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";
        let rows = self.rows((now, &[])).await?;
        let row = rows.first().ok_or_else(|| Error::Corrupt("the clock returned no row".into()))?;
        row::int(row, 0).map(Timestamp::from_micros)
    }

    async fn prepare(&self, sql: &'static str) -> Result<Statement, Error> {
        let mut prepared = self.prepared.lock().await;
        if let Some(statement) = prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await;
        let statement = self.track_error(statement)?;
        prepared.insert(sql, statement.clone());
        Ok(statement)
    }

    fn track_error<T>(&self, outcome: Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        if outcome.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        Ok(outcome?)
    }
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
