//! The read barrier: keeps the caches of a node exact although other nodes write to the same database.
//!
//! Every write transaction inserts its changes into `changes`, together with its transaction id. A node
//! remembers the snapshot for which its caches are valid. A check selects the current snapshot and all
//! changes that are visible now and were not in that one; they are published, and the caches are valid for
//! the current snapshot. Transaction ids alone would not do, since they are not in
//! commit order.
//!
//! A request waits for a check that began after it arrived, so it sees every write acknowledged before, on
//! any node. One check serves all requests that were waiting when it began, like a read index of Raft.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};
use tokio_postgres::{Row, Statement};

use super::connector::{Connector, RECONNECT_TIMEOUT, Reconnector};
use super::pool::Pool;
use super::snapshot::Snapshot;
use super::tx::PostgresTx;
use crate::changes::{Change, decode};
use crate::error::Error;
use crate::read_barrier_stats::ReadBarrierStats;
use crate::revisions::Revisions;
use crate::work::erase_retryable;

/// The plan does not depend on statistics, which are wrong for a table whose rows live for a minute.
const SETTINGS: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off";

/// `$1` and `$2` are the `xmax` and the transactions in progress of the snapshot for which the caches are
/// valid. Every transaction that was not visible in it is either at least `$1` or one of `$2`. The first
/// eight digits of a WAL file's name are the timeline. One row more than `MAX_CHANGES` tells that there are
/// too many.
const CHECK: &str = "SELECT CAST(pg_current_snapshot() AS TEXT),
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
    CAST(pg_current_wal_flush_lsn() - '0/0'::pg_lsn AS BIGINT),
    CAST(horizon AS TEXT),
    timeline,
    ARRAY(
        SELECT encoded FROM changes WHERE xid >= CAST(CAST($1 AS TEXT) AS XID8)
        UNION ALL SELECT encoded FROM changes WHERE xid = ANY(CAST(CAST($2 AS TEXT[]) AS XID8[]))
        LIMIT 10001
    )
    FROM change_log";
const MAX_CHANGES: usize = 10_000;

/// In one statement, so that a check sees either the rows or the new horizon.
const PRUNE: &str = "WITH pruned AS (DELETE FROM changes WHERE xid < CAST(CAST($1 AS TEXT) AS XID8))
    UPDATE change_log SET horizon = CAST(CAST($1 AS TEXT) AS XID8)
    WHERE horizon < CAST(CAST($1 AS TEXT) AS XID8)";
const SET_TIMELINE: &str = "UPDATE change_log SET timeline = $1 WHERE timeline <> $1";

/// A node that makes no check for this long may have to start again with empty caches.
const PRUNE_AFTER: Duration = Duration::from_secs(60);

/// For a check, which takes less than a millisecond: beyond this the network has failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Requests served by one check; more wait for the next.
const MAX_WAITERS: usize = 1 << 16;

pub(super) struct ReadBarrier {
    waiters: mpsc::UnboundedSender<Waiter>,
    stats: Arc<Mutex<ReadBarrierStats>>,
}

type Waiter = oneshot::Sender<Result<Position, Error>>;

/// The primary's position at a check, which a standby must have replayed to be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) timeline: i64,
    pub(super) flush_lsn: i64,
}

impl ReadBarrier {
    /// `pool` is for deleting old changes.
    pub(super) fn start(connector: Arc<Connector>, pool: Arc<Pool>, revisions: Arc<Revisions>) -> Self {
        let (waiters, queue) = mpsc::unbounded_channel();
        let stats = Arc::<Mutex<ReadBarrierStats>>::default();
        let checker = Checker {
            reconnector: Reconnector::new(connector, RECONNECT_TIMEOUT),
            connection: None,
            pool,
            revisions,
            prune_next: None,
            stats: stats.clone(),
        };
        tokio::spawn(checker.run(queue));
        Self { waiters, stats }
    }

    pub(super) fn stats(&self) -> ReadBarrierStats {
        *self.stats.lock()
    }

    /// When this returns, every change is published that was committed before the call.
    pub(super) async fn wait(&self) -> Result<Position, Error> {
        let (reply, checked) = oneshot::channel();
        self.waiters.send(reply).map_err(|_| Error::Closed)?;
        checked.await.map_err(|_| Error::Closed)?
    }
}

struct Checker {
    reconnector: Reconnector,
    connection: Option<Connection>,
    pool: Arc<Pool>,
    revisions: Arc<Revisions>,
    /// The `xmin` of an earlier snapshot. Once it is old enough, changes below it are deleted.
    prune_next: Option<(Instant, u64)>,
    stats: Arc<Mutex<ReadBarrierStats>>,
}

struct Connection {
    tx: PostgresTx,
    check: Statement,
    /// The snapshot for which the caches are valid; `None` before the first check.
    valid_for: Option<ValidFor>,
}

struct ValidFor {
    snapshot: Snapshot,
    timeline: i64,
}

impl Checker {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Waiter>) {
        let mut waiters = Vec::new();
        while queue.recv_many(&mut waiters, MAX_WAITERS).await > 0 {
            // Requests that other tasks have read already join this check instead of the next one.
            yield_now().await;
            while let Ok(waiter) = queue.try_recv() {
                waiters.push(waiter);
            }
            let began = Instant::now();
            let checked = self.check().await;
            {
                let mut stats = self.stats.lock();
                stats.waits += waiters.len() as u64;
                stats.checks += 1;
                stats.check_time += began.elapsed();
            }
            for waiter in waiters.drain(..) {
                // The send fails only if the request was cancelled.
                drop(waiter.send(checked.clone()));
            }
        }
    }

    async fn check(&mut self) -> Result<Position, Error> {
        let (began, number) = (Instant::now(), self.revisions.begin());
        let checked = self.try_check(began).await;
        if checked.is_ok() {
            self.revisions.end(number);
        }
        checked
    }

    async fn try_check(&mut self, began: Instant) -> Result<Position, Error> {
        if let Some(connection) = self.connection.take().filter(|connection| !connection.tx.is_closed()) {
            match self.check_on(connection).await {
                // The server may have closed the connection, or may have become a standby.
                Err(cause) => tracing::debug!(%cause, "check of the caches retried on a new connection"),
                checked => return checked,
            }
        }
        // Another server may answer, and a snapshot of one means nothing on another: nothing stays valid.
        let tx = self.reconnector.connect(began).await?;
        let connection = timeout(CHECK_TIMEOUT, Connection::prepare(tx)).await.map_err(|_| timed_out())??;
        self.check_on(connection).await
    }

    async fn check_on(&mut self, mut connection: Connection) -> Result<Position, Error> {
        let row = timeout(CHECK_TIMEOUT, connection.check()).await.map_err(|_| timed_out())??;
        let checked = Checked::read(&row)?;
        let position = Position { timeline: checked.timeline, flush_lsn: checked.flush_lsn };
        let changes = checked.changes_since(connection.valid_for.as_ref());
        self.revisions.publish(&changes);
        self.stats.lock().changes += changes.len() as u64;
        if checked.timeline != checked.logged_timeline
            && let Err(error) = connection.set_timeline(checked.timeline).await
        {
            tracing::warn!(%error, "timeline was not recorded; replicas are not used until it is");
        }
        self.prune(&checked.snapshot);
        connection.valid_for = Some(ValidFor { snapshot: checked.snapshot, timeline: checked.timeline });
        self.connection = Some(connection);
        Ok(position)
    }

    /// Deletes changes that are visible in a snapshot of a minute ago. The time of a change would not do: its
    /// transaction may take longer than any limit.
    fn prune(&mut self, snapshot: &Snapshot) {
        let now = Instant::now();
        let Some((since, horizon)) = self.prune_next else {
            self.prune_next = Some((now, snapshot.xmin));
            return;
        };
        if now - since < PRUNE_AFTER {
            return;
        }
        self.prune_next = Some((now, snapshot.xmin));
        let (pool, horizon) = (self.pool.clone(), horizon.to_string());
        tokio::spawn(async move {
            let (mut work, _) = erase_retryable(move |tx| {
                async move { tx.execute(PRUNE, &[horizon.as_str().into()]).await }.boxed()
            });
            if let Err(error) = pool.run(&mut *work).await {
                tracing::warn!(%error, "old changes were not deleted; retry in a minute");
            }
        });
    }
}

impl Connection {
    async fn prepare(mut tx: PostgresTx) -> Result<Self, Error> {
        tx.client().batch_execute(SETTINGS).await?;
        let check = tx.client().prepare(CHECK).await?;
        Ok(Self { tx, check, valid_for: None })
    }

    async fn check(&mut self) -> Result<Row, Error> {
        let (since, in_progress) = match &self.valid_for {
            Some(ValidFor { snapshot, .. }) => {
                (snapshot.xmax, snapshot.in_progress.iter().map(u64::to_string).collect())
            }
            None => (u64::MAX, Vec::new()),
        };
        Ok(self.tx.client().query_one(&self.check, &[&since.to_string(), &in_progress]).await?)
    }

    async fn set_timeline(&mut self, timeline: i64) -> Result<(), Error> {
        let set = async { self.tx.client().execute(SET_TIMELINE, &[&timeline]).await };
        timeout(CHECK_TIMEOUT, set).await.map_err(|_| timed_out())??;
        Ok(())
    }
}

/// The row of a check.
struct Checked {
    snapshot: Snapshot,
    timeline: i64,
    flush_lsn: i64,
    horizon: u64,
    logged_timeline: i64,
    encoded_changes: Vec<Vec<u8>>,
}

impl Checked {
    fn read(row: &Row) -> Result<Self, Error> {
        let corrupt = || Error::Corrupt("a check of the caches returned an unknown format".into());
        Ok(Self {
            snapshot: row.try_get::<_, &str>(0)?.parse().map_err(|_| corrupt())?,
            timeline: i64::from_str_radix(row.try_get(1)?, 16).map_err(|_| corrupt())?,
            flush_lsn: row.try_get(2)?,
            horizon: row.try_get::<_, &str>(3)?.parse().map_err(|_| corrupt())?,
            logged_timeline: row.try_get(4)?,
            encoded_changes: row.try_get(5)?,
        })
    }

    fn changes_since(&self, valid_for: Option<&ValidFor>) -> Vec<Change> {
        let is_complete = valid_for.is_some_and(|valid_for| {
            let earlier = &valid_for.snapshot;
            valid_for.timeline == self.timeline
                && earlier.xmax <= self.snapshot.xmax
                && earlier.xmin >= self.horizon
                && self.encoded_changes.len() <= MAX_CHANGES
        });
        let mut changes = Vec::new();
        if !is_complete {
            changes.push(Change::Everything);
        }
        for encoded in &self.encoded_changes {
            decode(encoded, &mut changes);
        }
        changes
    }
}

fn timed_out() -> Error {
    Error::Unavailable("the server did not answer a check of the caches in time".into())
}

#[cfg(test)]
mod tests;
