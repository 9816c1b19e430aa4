//! Reads from a standby, as good as from the primary.
//!
//! A reader may have written a moment ago, through another node, or have been told of somebody else's write. So before
//! every read the primary is asked how far it has written, which costs it next to nothing, and the standby answers only
//! if it has replayed as much. If it has not within a moment, or is away, the primary answers after all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep};

use super::pool::Pool;
use crate::tx::Tx;
use crate::{Error, Work};

/// What is acknowledged has been flushed. Read as a plain number, since pg_lsn has no form of its own here.
const WRITTEN: &str = "SELECT CAST(pg_current_wal_flush_lsn() - '0/0'::pg_lsn AS BIGINT)";

/// One that has been promoted follows nobody any more, and says nothing about what it might be missing.
const REPLAYED: &str = "SELECT CASE WHEN pg_is_in_recovery()
    THEN CAST(coalesce(pg_last_wal_replay_lsn(), '0/0'::pg_lsn) - '0/0'::pg_lsn AS BIGINT) ELSE -1 END";

/// A standby nearby is a millisecond or two behind; one that is further behind is not waited for.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// One that is away is left alone for so long.
const REST: Duration = Duration::from_secs(5);

pub(super) struct Replica {
    pool: Pool,
    primary: Arc<Pool>,
    resting_until: Mutex<Option<Instant>>,
}

impl Replica {
    pub(super) fn new(pool: Pool, primary: Arc<Pool>) -> Self {
        Self { pool, primary, resting_until: Mutex::default() }
    }

    pub(super) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        if self.is_resting() {
            return self.primary.run(work).await;
        }
        let written = self.primary.run(|tx| number(tx, WRITTEN).boxed()).await?;
        let same = work.clone();
        let answered = self.pool.run(move |tx| {
            async move { if has_replayed(tx, written).await? { same(tx).await.map(Some) } else { Ok(None) } }.boxed()
        });
        match answered.await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => self.primary.run(work).await,
            Err(error @ (Error::Unavailable(_) | Error::Conflict(_) | Error::Busy)) => {
                tracing::warn!(%error, "a replica does not answer; the primary does for a while");
                *self.rest() = Some(Instant::now() + REST);
                self.primary.run(work).await
            }
            Err(error) => Err(error),
        }
    }

    fn is_resting(&self) -> bool {
        self.rest().is_some_and(|until| Instant::now() < until)
    }

    fn rest(&self) -> MutexGuard<'_, Option<Instant>> {
        self.resting_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn has_replayed(tx: &mut Tx, written: i64) -> Result<bool, Error> {
    for _ in 0..LOOKS {
        match number(tx, REPLAYED).await? {
            replayed if replayed >= written => return Ok(true),
            replayed if replayed < 0 => return Ok(false),
            _ => sleep(BETWEEN_LOOKS).await,
        }
    }
    Ok(false)
}

async fn number(tx: &mut Tx, sql: &'static str) -> Result<i64, Error> {
    let found = tx.first(sql, &[], |row| row.int(0)).await?;
    found.ok_or_else(|| Error::Corrupt("a question for one number had no answer".into()))
}
