//! A connection to PostgreSQL and the transaction on it: control, queries, and what it changed.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use model::{Timestamp, error_chain};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Row, Statement};

use super::error::is_refusal;
use super::row;
use crate::changes::Change;
use crate::error::Error;
use crate::value::{Bound, Value};

/// For a commit to be answered. It waits for the disk, and for a synchronous standby; nothing on the server
/// bounds it.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(15);

/// For a rollback, which has nothing to wait for.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct PostgresTx {
    client: Client,
    /// The task that speaks the protocol; it is aborted when this is dropped.
    connection_task: AbortHandle,
    prepared: HashMap<&'static str, Statement>,
    /// A statement failed since the transaction began, so the server ignores all further ones.
    failed: bool,
    /// What is to be added right before the commit: by which statement, to which row, how much.
    deltas: BTreeMap<(&'static str, i64), i64>,
    /// What the open transaction changed, for the change listener.
    changes: Vec<Change>,
}

#[derive(Debug)]
pub(super) enum CommitOutcome {
    Committed,
    RolledBack(Error),
    /// The commit was sent and not answered: PostgreSQL's "transaction resolution unknown".
    Unknown(Error),
}

/// The mode of the advisory lock on a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMode {
    Shared,
    Exclusive,
}

impl LockMode {
    /// The table's oid separates services that share a database.
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

/// Control: only the tasks of `postgres` hold this type, so only they can begin, lock and commit.
impl PostgresTx {
    pub(super) fn new(client: Client, connection_task: AbortHandle) -> Self {
        Self {
            client,
            connection_task,
            prepared: HashMap::new(),
            failed: false,
            deltas: BTreeMap::new(),
            changes: Vec::new(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Awaited: a first statement sent along with it would be committed by itself if BEGIN failed.
    pub(super) async fn begin(&mut self) -> Result<(), Error> {
        self.failed = false;
        self.deltas.clear();
        let begun = self.client.batch_execute("BEGIN").await;
        self.track_error(begun)
    }

    /// Takes the advisory locks of these posts until the end of the transaction. Row locks would be unfair:
    /// likes of a post pass by a delete that waits for it, for as long as there are some.
    pub(super) async fn lock_posts(&mut self, posts: &[i64], mode: LockMode) -> Result<(), Error> {
        if posts.is_empty() {
            return Ok(());
        }
        let statement = self.prepare(mode.statement()).await?;
        let locked = self.client.execute(&statement, &[&posts]).await;
        self.track_error(locked).map(drop)
    }

    /// Runs the recorded deltas in one round trip, in the same order on every node.
    pub(super) async fn flush_deltas(&mut self) -> Result<(), Error> {
        let mut updates = Vec::new();
        for ((sql, row), delta) in std::mem::take(&mut self.deltas) {
            if delta != 0 {
                updates.push((self.prepare(sql).await?, [Value::Int(delta), Value::Int(row)]));
            }
        }
        let sent = updates
            .iter()
            .map(|(statement, values)| self.client.execute_raw(statement, values.iter().copied()));
        let updated: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        self.track_error(updated).map(drop)
    }

    pub(super) async fn commit(&mut self) -> CommitOutcome {
        // The server would answer a COMMIT with a rollback, which the client reports as a success.
        if self.failed {
            return CommitOutcome::RolledBack(Error::Database("commit after a failed statement".into()));
        }
        match timeout(COMMIT_TIMEOUT, self.client.batch_execute("COMMIT")).await {
            Ok(Ok(())) => CommitOutcome::Committed,
            Ok(Err(error)) if is_refusal(&error) => CommitOutcome::RolledBack(error.into()),
            Ok(Err(error)) => CommitOutcome::Unknown(Error::Unavailable(error_chain(&error).into())),
            Err(_) => CommitOutcome::Unknown(Error::Unavailable("a commit was not answered in time".into())),
        }
    }

    /// Waits for the answer to an unanswered commit, however long it takes.
    pub(super) async fn await_commit(&mut self) {
        // Answered after the commit, whichever way it went; its callers have their answers already.
        drop(self.client.simple_query("").await);
    }

    /// Whether it succeeded, and the connection can be used again. Otherwise the connection must be dropped,
    /// which rolls back as well.
    pub(super) async fn rollback(&mut self) -> bool {
        matches!(timeout(ROLLBACK_TIMEOUT, self.client.batch_execute("ROLLBACK")).await, Ok(Ok(())))
    }

    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }
}

/// Queries, each statement prepared once.
impl PostgresTx {
    pub(crate) fn record_change(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(crate) fn record_delta(&mut self, sql: &'static str, delta: i64, row: i64) {
        *self.deltas.entry((sql, row)).or_default() += delta;
    }

    pub(crate) async fn execute(&mut self, (sql, params): Bound<'_>) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let touched = self.client.execute_raw(&statement, params.iter().copied()).await;
        let touched = self.track_error(touched)?;
        usize::try_from(touched).map_err(|_| Error::Corrupt(format!("{touched} rows at once")))
    }

    /// Sends all of them at once, instead of awaiting the answer to each.
    pub(crate) async fn execute_each(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let sent = rows.iter().map(|params| self.client.execute_raw(&statement, params.iter().copied()));
        let touched: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        let touched: u64 = self.track_error(touched)?.into_iter().sum();
        usize::try_from(touched).map_err(|_| Error::Corrupt(format!("{touched} rows at once")))
    }

    pub(crate) async fn rows(&mut self, (sql, params): Bound<'_>) -> Result<Vec<Row>, Error> {
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

    /// Takes effect at once, even if the transaction is rolled back: ids may have gaps.
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

/// Closes the connection at once, not when the network gives up: its open transaction holds locks.
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
