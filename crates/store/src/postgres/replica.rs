//! Reads from a standby that see every acknowledged write of every node.
//!
//! Before each read the read barrier returns the primary's timeline and flush LSN (log sequence number), and
//! the read runs on the standby only if that has replayed the WAL of this timeline up to there. If it has not
//! within a few milliseconds, or is unreachable, the read runs on the primary.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::pool::Pool;
use super::read_barrier::{Position, ReadBarrier};
use super::replication_lag::REPLAY_LSN_AND_TIMELINE;
use crate::error::Error;
use crate::tx::Tx;
use crate::work::ErasedWork;

/// How often a read checks the standby's replay position before it falls back to the primary: a nearby
/// standby lags by 1 to 2 ms.
const REPLAY_CHECKS: usize = 4;
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// How long an unreachable standby is not used.
const COOLDOWN: Duration = Duration::from_secs(5);

pub(super) struct Replica {
    pool: Pool,
    primary: Arc<Pool>,
    barrier: Arc<ReadBarrier>,
    unused_until: Mutex<Option<Instant>>,
}

impl Replica {
    pub(super) fn new(pool: Pool, primary: Arc<Pool>, barrier: Arc<ReadBarrier>) -> Self {
        Self { pool, primary, barrier, unused_until: Mutex::default() }
    }

    pub(super) async fn run(&self, work: &mut dyn ErasedWork) -> Result<(), Error> {
        if self.is_cooling_down() {
            return self.primary.run(work).await;
        }
        let position = self.barrier.wait().await?;
        let mut guarded = ReplayGuardedWork { position, work, has_run: false };
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

/// Runs the work only if the standby has replayed the WAL up to `position`.
struct ReplayGuardedWork<'w> {
    position: Position,
    work: &'w mut dyn ErasedWork,
    has_run: bool,
}

impl ErasedWork for ReplayGuardedWork<'_> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>> {
        async move {
            self.has_run = has_replayed(tx, self.position).await?;
            if self.has_run { self.work.run(tx).await } else { Ok(()) }
        }
        .boxed()
    }
}

async fn has_replayed(tx: &mut Tx<'_>, position: Position) -> Result<bool, Error> {
    for _ in 0..REPLAY_CHECKS {
        let row = tx.first(REPLAY_LSN_AND_TIMELINE, &[], |row| Ok((row.int(0)?, row.int(1)?))).await?;
        let Some((replayed, timeline)) = row else { return Ok(false) };
        // The standby of an earlier primary may be at a larger LSN without any newer commit.
        if replayed >= position.flush_lsn && timeline == position.timeline {
            return Ok(true);
        }
        // Not a standby.
        if replayed < 0 {
            return Ok(false);
        }
        sleep(CHECK_INTERVAL).await;
    }
    Ok(false)
}
