//! Reads from a standby that are never older than the last acknowledged write, of whichever node.
//!
//! Before every read the primary is asked for the end of its log, which costs it next to nothing, and the standby answers
//! only if it has replayed as much. If it has not within a moment, or is unreachable, the primary answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::pool::Pool;
use super::replication_lag::{FLUSHED, REPLAYED};
use crate::error::Error;
use crate::tx::{RetryableWork, Tx};

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

    pub(super) async fn run<T: Send + 'static>(&self, work: impl RetryableWork<T>) -> Result<T, Error> {
        if self.is_cooling_down() {
            return self.primary.run(work).await;
        }
        let flushed = self.primary.run(|tx| number(tx, FLUSHED).boxed()).await?;
        let same = work.clone();
        let answered = self.pool.run(move |tx| {
            async move { if has_replayed(tx, flushed).await? { same(tx).await.map(Some) } else { Ok(None) } }.boxed()
        });
        match answered.await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => self.primary.run(work).await,
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
