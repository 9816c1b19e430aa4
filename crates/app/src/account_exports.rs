//! Exports of accounts: what a user takes along to another instance.

use std::time::Duration;

use blobs::PhotoFile;
use model::{PhotoId, PostId, Timestamp, UserId, master_sides};
use store::{ExportedLike, ExportedPost, PhotoRow};

use crate::photo_stream::{PhotoStream, StoredPhoto};
use crate::rebuild::orientation;
use crate::{App, Caller, Client, Error, FairPermit};

/// How long an export can be downloaded after its start.
const EXPORT_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Rows that are read at a time.
const PAGE: u32 = 200;

const BUSY: Error = Error::Busy("export");

/// An export that can be downloaded.
#[derive(Debug, Clone, Copy)]
pub struct AccountExport {
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub posts: u64,
    /// The size of the photos, with all their masters.
    pub bytes: u64,
}

/// The file of a photo, as it leaves the service.
#[derive(Debug)]
pub struct ExportedPhoto {
    pub file: PhotoStream,
    /// Whether it is the upload without its metadata; else the largest square.
    pub is_original: bool,
}

impl App {
    /// Allows the caller to download an export for a day.
    pub async fn start_export(&self, caller: &Caller) -> Result<AccountExport, Error> {
        let (store, user, now) = (&self.0.store, caller.user.id, self.0.clock.now());
        store.start_export(user, now).await?;
        let _slot = self.sum_slot(caller.client).await?;
        let (posts, bytes) = (store.post_count(user).await?, store.posted_bytes(user).await?);
        Ok(AccountExport { created_at: now, expires_at: now.plus(EXPORT_TTL), posts, bytes })
    }

    /// The permit of a download, held until it ends or it is revoked. Fails unless an export was started
    /// within a day.
    pub async fn begin_export(&self, caller: &Caller, client: Client) -> Result<FairPermit, Error> {
        let started_at = self.0.store.export_started_at(caller.user.id).await?;
        let is_valid = |at: Timestamp| self.0.clock.now().since(at) < EXPORT_TTL;
        if !started_at.is_some_and(is_valid) {
            return Err(Error::NotFound("there is no export; start one with POST /me/export, then retry"));
        }
        self.0.exports.try_acquire(client).ok_or(BUSY)
    }

    /// A page of the user's posts after `after`, oldest first, also of those that are hidden.
    pub async fn exported_posts(&self, user: UserId, after: PostId) -> Result<Vec<ExportedPost>, Error> {
        Ok(self.0.store.exported_posts(user, after, PAGE).await?)
    }

    /// A page of the user's posts before `before`, newest first.
    pub async fn exported_posts_before(
        &self,
        user: UserId,
        before: PostId,
    ) -> Result<Vec<ExportedPost>, Error> {
        Ok(self.0.store.exported_posts_before(user, before, PAGE).await?)
    }

    /// A page of the posts after `after` that the user likes, oldest first.
    pub async fn exported_likes(&self, user: UserId, after: PostId) -> Result<Vec<ExportedLike>, Error> {
        Ok(self.0.store.exported_likes(user, after, PAGE).await?)
    }

    /// The original of a photo with its orientation, or its largest square; `None` if it was deleted, or is
    /// lost.
    pub async fn exported_photo(&self, id: PhotoId) -> Result<Option<ExportedPhoto>, Error> {
        let Some(row) = self.0.store.photo_row(id).await? else { return Ok(None) };
        if row.original.is_some()
            && let StoredPhoto::Intact(file) =
                self.open_photo_file(id, PhotoFile::Original, orientation(&row)).await?
        {
            return Ok(Some(ExportedPhoto { file, is_original: true }));
        }
        self.exported_square(&row).await
    }

    /// The largest square of a photo, which every browser can show.
    pub async fn exported_preview(&self, id: PhotoId) -> Result<Option<ExportedPhoto>, Error> {
        match self.0.store.photo_row(id).await? {
            Some(row) => self.exported_square(&row).await,
            None => Ok(None),
        }
    }

    async fn exported_square(&self, row: &PhotoRow) -> Result<Option<ExportedPhoto>, Error> {
        for side in master_sides(row.width.min(row.height)) {
            // A square is upright.
            let square = self.open_photo_file(row.id, PhotoFile::Master(side), 1).await?;
            if let StoredPhoto::Intact(file) = square {
                return Ok(Some(ExportedPhoto { file, is_original: false }));
            }
        }
        tracing::error!(photo = %row.id, "photo missing in an export");
        Ok(None)
    }
}
