//! Background maintenance: deletes expired rows, abandoned uploads and orphaned images, indexes tags, and
//! watches the disk. Also the readiness check.

use std::time::Duration;

use futures_util::FutureExt;
use model::Timestamp;
use store::Notice;
use tokio::sync::mpsc;

use crate::detached::detached;
use crate::{App, Error, Settings};

/// An upload without a row after this time counts as abandoned.
const CLAIM_TTL: Duration = Duration::from_secs(60 * 60);

const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Seldom, since it looks up every photo with a cached image and only frees disk space.
const ORPHAN_SCAN_INTERVAL: Duration = Duration::from_secs(60 * 60);

impl App {
    /// Fails unless the database and the blob store responded within the last second, and no error has
    /// reported damage.
    pub async fn ready(&self) -> Result<(), Error> {
        let app = self.clone();
        // Detached, so that a probe that hangs up does not make the next one begin again.
        let check = || detached(async move { app.check_readiness().await }).boxed();
        self.0.readiness.outcome(check).await
    }

    async fn check_readiness(&self) -> Result<(), Error> {
        if self.0.store.recheck_damage().await {
            return Err(Error::Damaged("an earlier request met the damage; see the log".into()));
        }
        self.0.store.ping().await?;
        Ok(self.0.blobs.ping().await?)
    }

    /// Runs until it is cancelled.
    pub async fn run_maintenance(self) {
        tokio::join!(
            self.remove_orphaned_images_periodically(),
            self.remove_images_of_deleted_photos(),
            self.sweep_periodically(),
            self.delete_accounts_continuously(),
            self.index_tags_periodically(),
            self.watch_disk_periodically(),
            self.encode_avif_continuously()
        );
    }

    async fn sweep_periodically(&self) {
        let mut tick = tokio::time::interval(SWEEP_INTERVAL);
        loop {
            tick.tick().await;
            self.0.store.recheck_damage().await;
            match self.sweep(self.abandoned_before()).await {
                Ok(0) => {}
                Ok(collected) => tracing::info!(collected, "maintenance sweep completed"),
                Err(error) => tracing::warn!(%error, "maintenance sweep failed; retry in a minute"),
            }
        }
    }

    /// Uploads that began before this time are abandoned. Unless the database is shared, these include all
    /// uploads from before this process opened it: the process that began them has ended.
    fn abandoned_before(&self) -> Timestamp {
        let old = self.0.clock.now().minus(CLAIM_TTL);
        if self.0.store.is_shared() { old } else { old.max(self.0.opened_at) }
    }

    /// A delete through another node leaves the photo's images in this node's caches. They are never served
    /// again, but deleted data must not stay on the disk.
    async fn remove_images_of_deleted_photos(&self) {
        let (sender, mut deleted) = mpsc::unbounded_channel();
        self.on_notice(move |notice| {
            if let Notice::PhotoGone(photo) = notice {
                // The send fails only when the service stops.
                _ = sender.send(*photo);
            }
        });
        while let Some(photo) = deleted.recv().await {
            if let Err(error) = self.remove_images(photo).await {
                tracing::warn!(%photo, %error, "images of a deleted photo stay on the disk; retry in an hour");
            }
        }
    }

    /// On a shared database also for deletes that this node has not heard of, because it was cut off.
    async fn remove_orphaned_images_periodically(&self) {
        self.remove_orphaned_images().await;
        while self.0.store.is_shared() {
            tokio::time::sleep(ORPHAN_SCAN_INTERVAL).await;
            self.remove_orphaned_images().await;
        }
    }

    /// Removes cached images of photos without a row: deleted through another node, or newer than a backup
    /// that was restored.
    async fn remove_orphaned_images(&self) {
        let removed = async {
            let mut removed = 0;
            for photo in self.0.cache.photos().await? {
                if self.0.store.photo(photo).await?.is_none() {
                    self.0.cache.remove(photo).await?;
                    removed += 1;
                }
            }
            Ok::<usize, Error>(removed)
        };
        match removed.await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(photos = removed, "orphaned images removed"),
            Err(error) => {
                tracing::warn!(%error, "orphaned image removal failed");
            }
        }
    }

    /// One round. Uploads that began before `abandoned_before` are abandoned. Returns the number of deleted
    /// items.
    async fn sweep(&self, abandoned_before: Timestamp) -> Result<usize, Error> {
        let inner = &self.0;
        let now = inner.clock.now();
        let swept = inner
            .store
            .sweep(now, inner.settings.session_idle, Settings::SESSION_AGE, Settings::IDEMPOTENCY_KEY_TTL)
            .await?;
        // Their writes may still complete, so their delete is scheduled after the late-write window.
        inner.store.abandon_stale_claims(abandoned_before, now.plus(inner.blobs.late_write_window())).await?;
        let mut removed = inner.store.remove_expired_uploads(now).await?;
        for photo in inner.store.pending_deletes(inner.clock.now()).await? {
            // Checked again, since a restore may have claimed the photo while earlier ones were deleted.
            if inner.store.is_delete_pending(photo).await? {
                self.delete_photo_files(photo).await;
                removed += 1;
            }
        }
        Ok(swept + removed)
    }
}
