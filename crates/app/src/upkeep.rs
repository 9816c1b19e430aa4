//! Keeping house: collecting what crashes and slow clients leave behind, and knowing that all is well.

use std::time::Duration;

use model::Timestamp;

use crate::{App, Error, Settings};

/// An upload that has not got its row within this time never will.
const CLAIM_LIFE: Duration = Duration::from_secs(60 * 60);

const EVERY: Duration = Duration::from_secs(60);

/// To look up every photo of which there are images takes a while, and is only about the disk.
const EVERY_NOW_AND_THEN: Duration = Duration::from_secs(60 * 60);

impl App {
    /// Whether the database and the blob store really answer.
    pub async fn ready(&self) -> Result<(), Error> {
        self.0.store.ping().await?;
        Ok(self.0.blobs.ping().await?)
    }

    /// Tidies up for as long as the service runs.
    pub async fn keep_house(self) {
        tokio::join!(self.clear_orphans_for_ever(), self.tidy_for_ever());
    }

    async fn tidy_for_ever(&self) {
        let mut tick = tokio::time::interval(EVERY);
        loop {
            tick.tick().await;
            match self.tidy(self.dead_before()).await {
                Ok(0) => {}
                Ok(collected) => tracing::info!(collected, "leftovers collected"),
                Err(error) => tracing::warn!(%error, "tidying up failed; it is tried again in a minute"),
            }
        }
    }

    /// Uploads that began before this will not be finished. If nobody else works with our database, that goes
    /// for whatever was under way before we opened it.
    fn dead_before(&self) -> Timestamp {
        let old = self.0.clock.now().minus(CLAIM_LIFE);
        if self.0.store.is_shared() { old } else { old.max(self.0.opened_at) }
    }

    /// A photo that is deleted through another node leaves its images here. They are never shown again, but
    /// they are not ours to keep either.
    async fn clear_orphans_for_ever(&self) {
        self.clear_orphans().await;
        while self.0.store.is_shared() {
            tokio::time::sleep(EVERY_NOW_AND_THEN).await;
            self.clear_orphans().await;
        }
    }

    /// Removes images of photos that are not there. A delete leaves none, but a database that was put back
    /// from a backup knows nothing of what came after it.
    async fn clear_orphans(&self) {
        let cleared = async {
            let mut cleared = 0;
            for photo in self.0.cache.photos().await? {
                if self.0.store.photo(photo).await?.is_none() {
                    self.0.cache.remove(photo).await?;
                    cleared += 1;
                }
            }
            Ok::<usize, Error>(cleared)
        };
        match cleared.await {
            Ok(0) => {}
            Ok(cleared) => tracing::info!(cleared, "images of photos that are not there were removed"),
            Err(error) => {
                tracing::warn!(%error, "images of photos that are not there may be left in the cache");
            }
        }
    }

    /// One round; uploads that began before `dead_before` are given up. Tells how much was collected.
    async fn tidy(&self, dead_before: Timestamp) -> Result<usize, Error> {
        let parts = &self.0;
        let now = parts.clock.now();
        let swept = parts.store.sweep(now, parts.settings.session_idle, Settings::KEY_LIFE).await?;
        // Bytes of theirs may still be on their way: what is noted for later is removed later.
        parts.store.abandon_stale_claims(dead_before, now.plus(parts.blobs.stragglers())).await?;
        let mut removed = 0;
        for photo in parts.store.pending_deletes(parts.clock.now()).await? {
            // A thousand photos take a while, and a restore may have claimed this one anew.
            if parts.store.is_delete_pending(photo).await? {
                self.remove_bytes(photo).await;
                removed += 1;
            }
        }
        Ok(swept + removed)
    }
}
