//! One connection to PostgreSQL, with the statements it has prepared.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use model::Timestamp;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Row, Statement};

use super::error::is_refusal;
use crate::Error;
use crate::tx::Bound;
use crate::value::Value;

/// For a commit to be answered. It waits for the disk, and for a synchronous standby; nothing on the server bounds it.
const COMMIT_TIME: Duration = Duration::from_secs(15);

/// For a rollback, which has nothing to wait for.
const ROLLBACK_TIME: Duration = Duration::from_secs(5);

pub(crate) struct Session {
    client: Client,
    /// The task that speaks to the server; it ends with us, whatever it is doing.
    speaker: AbortHandle,
    prepared: HashMap<&'static str, Statement>,
    /// A statement failed since the transaction began, so the server will hear of no further one.
    failed: bool,
    /// What is to be added at its end: by which statement, to which row, how much.
    sums: BTreeMap<(&'static str, i64), i64>,
}

/// What became of a transaction.
#[derive(Debug)]
pub(super) enum Fate {
    Committed,
    /// Nothing of it holds.
    Undone(Error),
    /// The commit was asked for and not answered.
    Unknown(Error),
}

/// How a post is kept from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// With whoever does the same.
    Together,
    Alone,
}

impl Keep {
    /// The table makes them ours where several services share a database.
    fn statement(self) -> &'static str {
        match self {
            Self::Together => {
                "SELECT pg_advisory_xact_lock_shared(CAST(CAST('posts' AS regclass) AS oid)::int, (post & 2147483647)::int)
                 FROM unnest(CAST($1 AS BIGINT[])) AS post"
            }
            Self::Alone => {
                "SELECT pg_advisory_xact_lock(CAST(CAST('posts' AS regclass) AS oid)::int, (post & 2147483647)::int)
                 FROM unnest(CAST($1 AS BIGINT[])) AS post"
            }
        }
    }
}

impl Session {
    pub(super) fn new(client: Client, speaker: AbortHandle) -> Self {
        Self { client, speaker, prepared: HashMap::new(), failed: false, sums: BTreeMap::new() }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(crate) async fn execute(&mut self, (sql, params): Bound<'_>) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let touched = self.client.execute_raw(&statement, params.iter().copied()).await;
        let touched = self.noted(touched)?;
        usize::try_from(touched).map_err(|_| Error::Corrupt(format!("{touched} rows at once")))
    }

    /// Once for each of `rows`, none of which waits for the answer to the one before.
    pub(crate) async fn execute_each(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value<'_>>],
    ) -> Result<usize, Error> {
        let statement = self.prepare(sql).await?;
        let sent = rows.iter().map(|params| self.client.execute_raw(&statement, params.iter().copied()));
        let touched: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        let touched: u64 = self.noted(touched)?.into_iter().sum();
        usize::try_from(touched).map_err(|_| Error::Corrupt(format!("{touched} rows at once")))
    }

    pub(crate) async fn last_id(&mut self, table: &'static str) -> Result<Option<i64>, Error> {
        let last = match table {
            "posts" => "SELECT last_value FROM posts_id_seq WHERE is_called",
            "users" => "SELECT last_value FROM users_id_seq WHERE is_called",
            other => return Err(Error::Corrupt(format!("{other} hands out no ids"))),
        };
        self.rows((last, &[])).await?.first().map(|row| super::row::int(row, 0)).transpose()
    }

    /// Holds at once, even if the transaction does not: an id more or less is nobody's loss.
    pub(crate) async fn hand_out_after(&mut self, table: &'static str, last: i64) -> Result<(), Error> {
        let moved = match table {
            "posts" => {
                "SELECT setval('posts_id_seq', greatest(CAST($1 AS BIGINT), 1), CAST($1 AS BIGINT) > 0)"
            }
            "users" => {
                "SELECT setval('users_id_seq', greatest(CAST($1 AS BIGINT), 1), CAST($1 AS BIGINT) > 0)"
            }
            other => return Err(Error::Corrupt(format!("{other} hands out no ids"))),
        };
        self.rows((moved, &[last.into()])).await.map(drop)
    }

    pub(crate) async fn clock(&mut self) -> Result<Timestamp, Error> {
        let now = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";
        let rows = self.rows((now, &[])).await?;
        let row = rows.first().ok_or_else(|| Error::Corrupt("a clock without a time".into()))?;
        super::row::int(row, 0).map(Timestamp::from_micros)
    }

    pub(crate) async fn rows(&mut self, (sql, params): Bound<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql).await?;
        let rows = async {
            let rows = pin!(self.client.query_raw(&statement, params.iter().copied()).await?);
            rows.try_collect::<Vec<Row>>().await
        };
        let rows = rows.await;
        self.noted(rows)
    }

    /// Notes what is to be added at the end of the transaction.
    pub(crate) fn add(&mut self, sql: &'static str, by: i64, to: i64) {
        *self.sums.entry((sql, to)).or_default() += by;
    }

    /// Waited for: a first statement sent along with it would hold by itself if this failed.
    pub(super) async fn begin(&mut self) -> Result<(), Error> {
        self.failed = false;
        self.sums.clear();
        let begun = self.client.batch_execute("BEGIN").await;
        self.noted(begun)
    }

    /// Keeps these posts from others until the end of the transaction: from whoever deletes or edits them, or from everybody.
    /// The locks on their rows would do, but are not fair: those who like a post pass by one who waits to delete it, for
    /// as long as there are some.
    pub(super) async fn hold(&mut self, posts: &[i64], keep: Keep) -> Result<(), Error> {
        if posts.is_empty() {
            return Ok(());
        }
        let statement = self.prepare(keep.statement()).await?;
        let held = self.client.execute(&statement, &[&posts]).await;
        self.noted(held).map(drop)
    }

    /// Waits for the answer to a commit that has not come, however long it takes.
    pub(super) async fn settled(&mut self) {
        // Answered after the commit, whichever way it went; nobody is left to be told.
        drop(self.client().simple_query("").await);
    }

    /// Adds what was noted, all of it in one round trip, and in the same order on every node.
    pub(super) async fn add_up(&mut self) -> Result<(), Error> {
        let mut adding = Vec::new();
        for ((sql, to), by) in std::mem::take(&mut self.sums) {
            if by != 0 {
                adding.push((self.prepare(sql).await?, [Value::Int(by), Value::Int(to)]));
            }
        }
        let sent = adding
            .iter()
            .map(|(statement, values)| self.client.execute_raw(statement, values.iter().copied()));
        let added: Result<Vec<u64>, _> = join_all(sent).await.into_iter().collect();
        self.noted(added).map(drop)
    }

    pub(super) async fn commit(&mut self) -> Fate {
        // The server would answer that it has rolled back, which sounds like a success.
        if self.failed {
            return Fate::Undone(Error::Database("a commit was asked for after a failure".into()));
        }
        match timeout(COMMIT_TIME, self.client.batch_execute("COMMIT")).await {
            Ok(Ok(())) => Fate::Committed,
            Ok(Err(error)) if is_refusal(&error) => Fate::Undone(error.into()),
            Ok(Err(error)) => Fate::Unknown(Error::Unavailable(super::error::told(&error).into())),
            Err(_) => Fate::Unknown(Error::Unavailable("a commit was not answered in time".into())),
        }
    }

    /// Whether it went well, and the session is fit for the next. Otherwise it must go: its end is a rollback as well.
    /// What is still on its way is answered first, or the time for this one runs out.
    pub(super) async fn roll_back(&mut self) -> bool {
        matches!(timeout(ROLLBACK_TIME, self.client.batch_execute("ROLLBACK")).await, Ok(Ok(())))
    }

    async fn prepare(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let prepared = self.client.prepare(sql).await;
        let statement = self.noted(prepared)?;
        self.prepared.insert(sql, statement.clone());
        Ok(statement)
    }

    fn noted<T>(&mut self, outcome: Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        self.failed |= outcome.is_err();
        Ok(outcome?)
    }
}

/// At once, not when the network has given up: a transaction that is open here holds things others want.
impl Drop for Session {
    fn drop(&mut self) {
        self.speaker.abort();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
