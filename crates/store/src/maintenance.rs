//! What the service does by itself: health checks, figures for the metrics, sweeping what has expired.

use std::time::Duration;

use futures_util::FutureExt;
use model::Timestamp;

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::{idempotency_keys, sessions};

statements! {
    TOTALS = "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM photos";
    PING = "SELECT 1";
    // Locks the one table that every upload writes to, and changes nothing.
    PING_WRITE = "DELETE FROM uploads WHERE started_at < -1";
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub photos: u64,
    pub bytes: u64,
}

impl Store {
    /// Proves that both reading and writing work.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(|tx| tx.first(PING, &[], |row| row.int(0)).map(|found| found.map(drop)).boxed()).await?;
        self.write(LockKey::Unshared, |tx| async move { tx.execute(PING_WRITE, &[]).await.map(drop) }.boxed())
            .await
    }

    pub async fn totals(&self) -> Result<Totals, Error> {
        let totals = self.read(|tx| {
            tx.first(TOTALS, &[], |row| Ok(Totals { photos: row.unsigned(0)?, bytes: row.unsigned(1)? }))
                .boxed()
        });
        Ok(totals.await?.unwrap_or_default())
    }

    /// Deletes sessions unused for `session_idle` and idempotency keys older than `key_life`.
    pub async fn sweep(
        &self,
        now: Timestamp,
        session_idle: Duration,
        key_life: Duration,
    ) -> Result<usize, Error> {
        self.write(LockKey::Maintenance, move |tx| {
            async move {
                let sessions = sessions::sweep(tx, now.minus(session_idle)).await?;
                Ok(sessions + idempotency_keys::sweep(tx, now.minus(key_life)).await?)
            }
            .boxed()
        })
        .await
    }
}
