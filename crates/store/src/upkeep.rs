//! What nobody asks for but everyone needs: sweeping, counting, a sign of life.

use std::time::Duration;

use futures_util::FutureExt;
use model::Timestamp;

use crate::holds::Holds;
use crate::statements::statements;
use crate::{Error, Store, posts, sessions};

statements! {
    TOTALS = "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM photos";
    PING = "SELECT 1";
    // Touches the one table every write passes through, and changes nothing.
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
        self.write(Holds::Nothing, |tx| tx.execute(PING_WRITE, &[]).map(|touched| touched.map(drop)).boxed()).await
    }

    pub async fn totals(&self) -> Result<Totals, Error> {
        let totals = self.read(|tx| {
            tx.first(TOTALS, &[], |row| Ok(Totals { photos: row.unsigned(0)?, bytes: row.unsigned(1)? }))
                .boxed()
        });
        Ok(totals.await?.unwrap_or_default())
    }

    /// Forgets sessions unused for `session_idle` and upload keys older than `key_life`.
    pub async fn sweep(
        &self,
        now: Timestamp,
        session_idle: Duration,
        key_life: Duration,
    ) -> Result<usize, Error> {
        self.write(Holds::Leftovers, move |tx| {
            async move {
                let sessions = sessions::sweep(tx, now.minus(session_idle)).await?;
                Ok(sessions + posts::sweep_keys(tx, now.minus(key_life)).await?)
            }
            .boxed()
        })
        .await
    }
}
