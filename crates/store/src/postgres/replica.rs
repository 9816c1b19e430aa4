//! Reads from a standby that are never older than the last acknowledged write, of whichever node.
//!
//! Before every read the primary is asked for the end of its log, which costs it next to nothing, and the
//! standby answers only if it has replayed as much. If it has not within a moment, or is unreachable, the
//! primary answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::pool::Pool;
use super::replication_lag::{FLUSHED, REPLAYED};
use crate::error::Error;
use crate::tx::Tx;
use crate::work::{ErasedWork, retryable};

/// A standby nearby is a millisecond or two behind; one that is further behind is not waited for.
const CHECKS: usize = 4;
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// An unreachable standby is not tried again for so long.
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
        let (mut position, flushed) = retryable(|tx| number(tx, FLUSHED).boxed());
        self.primary.run(&mut *position).await?;
        let mut guarded = IfReplayed { flushed: flushed.take()?, work, has_run: false };
        let outcome = self.pool.run(&mut guarded).await;
        let IfReplayed { work, has_run, .. } = guarded;
        match outcome {
            Ok(()) if has_run => Ok(()),
            Ok(()) => self.primary.run(work).await,
            Err(error @ (Error::Unavailable(_) | Error::Conflict(_) | Error::Busy)) => {
                tracing::warn!(%error, "replica unreachable; reads go to the primary for a while");
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

/// Runs the work only where everything is replayed that was committed before it.
struct IfReplayed<'w> {
    flushed: i64,
    work: &'w mut dyn ErasedWork,
    has_run: bool,
}

impl ErasedWork for IfReplayed<'_> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'t>) -> BoxFuture<'t, Result<(), Error>> {
        async move {
            self.has_run = has_replayed(tx, self.flushed).await?;
            if self.has_run { self.work.run(tx).await } else { Ok(()) }
        }
        .boxed()
    }
}

async fn has_replayed(tx: &mut Tx<'_>, flushed: i64) -> Result<bool, Error> {
    for _ in 0..CHECKS {
        match number(tx, REPLAYED).await? {
            replayed if replayed >= flushed => return Ok(true),
            replayed if replayed < 0 => return Ok(false),
            _ => sleep(CHECK_INTERVAL).await,
        }
    }
    Ok(false)
}

async fn number(tx: &mut Tx<'_>, sql: &'static str) -> Result<i64, Error> {
    let found = tx.first(sql, &[], |row| row.int(0)).await?;
    found.ok_or_else(|| Error::Corrupt("a log position returned no row".into()))
}
