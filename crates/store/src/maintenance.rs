//! Health checks, totals for the metrics, and sweeps of expired rows.

use std::time::Duration;

use futures_util::FutureExt;
use model::Timestamp;

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::{idempotency_keys, invitations, sessions, usage};

statements! {
    PHOTO_TOTALS = "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM photos";
    PING = "SELECT 1";
    // Claims and removals are what an interrupted restore leaves.
    ANY_ROW = "SELECT 1 FROM users WHERE id > 0 UNION ALL SELECT 1 FROM uploads WHERE started_at > 0
        UNION ALL SELECT 1 FROM removals WHERE since > 0 LIMIT 1";
    // Deletes no row, but needs a database that accepts writes.
    PING_WRITE = "DELETE FROM uploads WHERE started_at < -1";
}

/// The number of photos, and the size of their files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhotoTotals {
    pub photos: u64,
    pub bytes: u64,
}

impl Store {
    /// Checks that the database can be read and written.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(|tx| tx.first(PING, &[], |row| row.int(0)).map(|found| found.map(drop)).boxed()).await?;
        self.write(LockKey::Unshared, |tx| async move { tx.execute(PING_WRITE, &[]).await.map(drop) }.boxed())
            .await
    }

    /// Whether this database has never had a row.
    pub async fn is_unused(&self) -> Result<bool, Error> {
        self.read(|tx| {
            async move {
                // The last user may have left.
                Ok(tx.last_id("users").await? == 0 && tx.first(ANY_ROW, &[], |_| Ok(())).await?.is_none())
            }
            .boxed()
        })
        .await
    }

    pub async fn photo_totals(&self) -> Result<PhotoTotals, Error> {
        let totals = self.read(|tx| {
            tx.first(PHOTO_TOTALS, &[], |row| {
                Ok(PhotoTotals { photos: row.unsigned(0)?, bytes: row.unsigned(1)? })
            })
            .boxed()
        });
        Ok(totals.await?.unwrap_or_default())
    }

    /// Deletes sessions unused for `session_idle` or older than `session_age`, idempotency keys older than
    /// `key_ttl`, and what no longer counts towards quotas.
    pub async fn sweep(
        &self,
        now: Timestamp,
        session_idle: Duration,
        session_age: Duration,
        key_ttl: Duration,
    ) -> Result<usize, Error> {
        self.write_freeing(LockKey::Maintenance, move |tx| {
            async move {
                let sessions = sessions::sweep(tx, now.minus(session_idle), now.minus(session_age)).await?;
                let invitations = invitations::sweep(tx, now).await?;
                usage::sweep(tx, now).await?;
                Ok(sessions + invitations + idempotency_keys::sweep(tx, now.minus(key_ttl)).await?)
            }
            .boxed()
        })
        .await
    }
}
