//! Reads from a standby that see every acknowledged write of every node.
//!
//! Before each read the primary returns its flush LSN (log sequence number), which is cheap, and the read
//! runs on the standby only if that has replayed the WAL up to there. If it has not within a few
//! milliseconds, or is unreachable, the read runs on the primary.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::pool::Pool;
use super::replication_lag::{FLUSH_LSN, REPLAY_LSN};
use crate::error::Error;
use crate::tx::Tx;
use crate::work::{ErasedWork, erase_retryable};

/// How often a read checks the standby's replay position before it falls back to the primary: a nearby
/// standby lags by 1 to 2 ms.
const REPLAY_CHECKS: usize = 4;
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// How long an unreachable standby is not used.
const COOLDOWN: Duration = Duration::from_secs(5);

pub(super) struct Replica {
    pool: Pool,
    primary: Arc<Pool>,
    unused_until: Mutex<Option<Instant>>,
}

impl Replica {
    pub(super) fn new(pool: Pool, primary: Arc<Pool>) -> Self {
        Self { pool, primary, unused_until: Mutex::default() }
    }

    pub(super) async fn run(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        if self.is_cooling_down() {
            return self.primary.run(work).await;
        }
        let (mut query, flush_lsn) = erase_retryable(|tx| select_lsn(tx, FLUSH_LSN).boxed());
        self.primary.run(&mut *query).await?;
        let mut guarded = ReplayGuardedWork { flush_lsn: flush_lsn.take()?, work, has_run: false };
        let outcome = self.pool.run(&mut guarded).await;
        let ReplayGuardedWork { work, has_run, .. } = guarded;
        match outcome {
            Ok(()) if has_run => Ok(()),
            Ok(()) => self.primary.run(work).await,
            Err(error @ (Error::Unavailable(_) | Error::Conflict(_) | Error::Busy)) => {
                tracing::warn!(%error, "replica unreachable; reads fall back to the primary");
                *self.unused_until() = Some(Instant::now() + COOLDOWN);
                self.primary.run(work).await
            }
            Err(error) => Err(error),
        }
    }

    fn is_cooling_down(&self) -> bool {
        self.unused_until().is_some_and(|until| Instant::now() < until)
    }

    fn unused_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.unused_until.lock()
    }
}

/// Runs the work only if the standby has replayed the WAL up to `flush_lsn`.
struct ReplayGuardedWork<'w> {
    flush_lsn: i64,
    work: &'w mut dyn ErasedWork,
    has_run: bool,
}

impl ErasedWork for ReplayGuardedWork<'_> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>> {
        async move {
            self.has_run = has_replayed(tx, self.flush_lsn).await?;
            if self.has_run { self.work.run(tx).await } else { Ok(()) }
        }
        .boxed()
    }
}

async fn has_replayed(tx: &mut Tx<'_>, flush_lsn: i64) -> Result<bool, Error> {
    for _ in 0..REPLAY_CHECKS {
        match select_lsn(tx, REPLAY_LSN).await? {
            replayed if replayed >= flush_lsn => return Ok(true),
            // Not a standby.
            replayed if replayed < 0 => return Ok(false),
            _ => sleep(CHECK_INTERVAL).await,
        }
    }
    Ok(false)
}

async fn select_lsn(tx: &mut Tx<'_>, sql: &'static str) -> Result<i64, Error> {
    let lsn = tx.first(sql, &[], |row| row.int(0)).await?;
    lsn.ok_or_else(|| Error::Corrupt("the query for an LSN returned no row".into()))
}
