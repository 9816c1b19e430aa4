//! Photos, and the tables `uploads` and `removals`, which keep rows and files consistent.
//!
//! The blob store and the database cannot commit together, so the database records an upload or a deletion
//! before it starts. A photo is *claimed* in `uploads` before its files are written; the transaction that
//! references it, from a post or a profile, deletes the claim. The transaction that deletes a photo inserts
//! it into `removals`; that row is deleted after the files. Files orphaned by a crash are in one of these
//! tables, so maintenance never has to list the blob store. The parts of a resumable upload are such files
//! too.

use futures_util::FutureExt;
use model::{Alt, Focus, Photo, PhotoId, Placeholder, Timestamp, UserId};

use crate::changes::{Change, Notice};
use crate::column::Column;
use crate::error::Error;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;

table! {
    /// A row of `photos`.
    PhotoRow = "photos", key (id) {
        id: PhotoId,
        width: u32,
        height: u32,
        placeholder: Placeholder,
        bytes: u64,
        original: Option<String>,
        orientation: Option<i64>,
        alt: Option<Alt>,
        created_at: Timestamp,
        focus: Option<Focus>,
    }
}

/// The columns that [`read_photo`] reads, of the profile photo joined as `up`.
pub(crate) const PROFILE_PHOTO_COLUMNS: &str = "up.id, up.width, up.height, up.placeholder, up.alt, up.focus";

statements! {
    FIND = "SELECT id, width, height, placeholder, alt, focus FROM photos WHERE id = $1";
    // Of a post, or of a profile.
    OWNER = "SELECT u.id, CASE WHEN u.status IN ('active', 'suspended') AND p.hidden_reason IS NULL THEN 1 ELSE 0 END,
        p.share_original
        FROM posts p JOIN users u ON u.id = p.user_id WHERE p.photo_id = $1 AND u.status <> 'deleted'
        UNION ALL SELECT id, CASE WHEN status IN ('active', 'suspended') THEN 1 ELSE 0 END, 0
        FROM users WHERE photo_id = $1 AND status <> 'deleted' LIMIT 1";
    FIND_ROW = sql!("SELECT ", PhotoRow::COLUMN_LIST, " FROM photos WHERE id = $1");
    SET_BYTES = "UPDATE photos SET bytes = $1 WHERE id = $2";
    DELETE = "DELETE FROM photos WHERE id = $1";
    CLAIM = "INSERT INTO uploads (photo_id, started_at) VALUES ($1, $2)";
    END_CLAIM = "DELETE FROM uploads WHERE photo_id = $1";
    STALE_CLAIMS = "SELECT photo_id FROM uploads WHERE started_at < $1 ORDER BY started_at LIMIT 1000";
    BEGIN_DELETE = "INSERT INTO removals (photo_id, since) VALUES ($1, $2) ON CONFLICT (photo_id) DO NOTHING";
    PENDING_DELETES = "SELECT photo_id FROM removals WHERE since < $1 ORDER BY since LIMIT 1000";
    IS_DELETE_PENDING = "SELECT 1 FROM removals WHERE photo_id = $1
        AND NOT EXISTS (SELECT 1 FROM uploads WHERE photo_id = $1)
        AND NOT EXISTS (SELECT 1 FROM photos WHERE id = $1)";
    FINISH_DELETE = "DELETE FROM removals WHERE photo_id = $1";
}

/// A photo whose files are stored and whose row is to be inserted.
#[derive(Debug, Clone)]
pub struct NewPhoto {
    pub photo: Photo,
    /// The size of its files in the blob store.
    pub bytes: u64,
    /// The uploaded file, if it is stored as well.
    pub original: Option<Original>,
}

/// The format of a stored original, and its EXIF orientation, 1 to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original {
    pub format: &'static str,
    pub orientation: u8,
}

/// Who owns a photo, and whether it is shown to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhotoOwner {
    pub user: UserId,
    pub is_shown: bool,
    /// Whether everyone may download the original.
    pub shares_original: bool,
}

impl Store {
    /// A photo with its owner; `None` if no post and no profile has it, or its owner is being deleted.
    pub async fn photo_with_owner(&self, id: PhotoId) -> Result<Option<(Photo, PhotoOwner)>, Error> {
        self.read(move |tx| {
            async move {
                let Some(photo) = tx.first(FIND, &[(&id).into()], |row| read_photo(row, 0)).await? else {
                    return Ok(None);
                };
                let read = |row: &Row<'_, '_>| {
                    Ok(PhotoOwner {
                        user: row.user_id(0)?,
                        is_shown: row.int(1)? != 0,
                        shares_original: row.int(2)? != 0,
                    })
                };
                let owner = tx.first(OWNER, &[(&id).into()], read).await?;
                Ok(owner.map(|owner| (photo, owner)))
            }
            .boxed()
        })
        .await
    }

    pub async fn photo(&self, id: PhotoId) -> Result<Option<Photo>, Error> {
        self.read(move |tx| {
            async move { tx.first(FIND, &[(&id).into()], |row| read_photo(row, 0)).await }.boxed()
        })
        .await
    }

    /// All columns of a photo, for checks and repairs of its files.
    pub async fn photo_row(&self, id: PhotoId) -> Result<Option<PhotoRow>, Error> {
        self.read(move |tx| async move { tx.first(FIND_ROW, &[(&id).into()], PhotoRow::read).await }.boxed())
            .await
    }

    /// Records the size of a photo's files after a repair.
    pub async fn set_photo_bytes(&self, id: PhotoId, bytes: u64) -> Result<(), Error> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.write(id.into(), move |tx| {
            async move { tx.execute(SET_BYTES, &[bytes.into(), (&id).into()]).await.map(drop) }.boxed()
        })
        .await
    }

    /// Claims a photo before its files are written.
    pub async fn claim_photo(&self, id: PhotoId, now: Timestamp) -> Result<(), Error> {
        self.write(id.into(), move |tx| {
            async move { tx.execute(CLAIM, &[(&id).into(), now.into()]).await.map(drop) }.boxed()
        })
        .await
    }

    /// Ends a claim and schedules its files for deletion. `false` if there is none: the upload was committed
    /// or abandoned before.
    pub async fn abandon_photo(&self, id: PhotoId, now: Timestamp) -> Result<bool, Error> {
        self.write_freeing(id.into(), move |tx| async move { abandon(tx, id, now).await }.boxed()).await
    }

    /// Abandons claims from before `before`, at most 1000: their uploads neither succeeded nor failed.
    pub async fn abandon_stale_claims(&self, before: Timestamp, now: Timestamp) -> Result<usize, Error> {
        self.write_freeing(LockKey::Maintenance, move |tx| {
            async move {
                let stale = tx.all(STALE_CLAIMS, &[before.into()], |row| row.photo_id(0)).await?;
                for id in &stale {
                    abandon(tx, *id, now).await?;
                }
                Ok(stale.len())
            }
            .boxed()
        })
        .await
    }

    /// Photos scheduled for deletion before `before`, oldest first, at most 1000.
    pub async fn pending_deletes(&self, before: Timestamp) -> Result<Vec<PhotoId>, Error> {
        self.read(move |tx| {
            async move { tx.all(PENDING_DELETES, &[before.into()], |row| row.photo_id(0)).await }.boxed()
        })
        .await
    }

    /// Whether the files of this photo are still to be deleted: a restore may have claimed it since.
    pub async fn is_delete_pending(&self, id: PhotoId) -> Result<bool, Error> {
        let found = self.read(move |tx| {
            async move { tx.first(IS_DELETE_PENDING, &[(&id).into()], |_| Ok(())).await }.boxed()
        });
        Ok(found.await?.is_some())
    }

    /// Records that the files of this photo were deleted.
    pub async fn finish_delete(&self, id: PhotoId) -> Result<(), Error> {
        self.write_freeing(id.into(), move |tx| {
            async move { tx.execute(FINISH_DELETE, &[(&id).into()]).await.map(drop) }.boxed()
        })
        .await
    }
}

/// Replaces a claim by the photo's row; `false` if the claim was abandoned, and its files deleted. `alt` is
/// the alt text of a profile photo; a post stores its own.
pub(crate) async fn commit_upload(
    tx: &mut Tx<'_>,
    new: &NewPhoto,
    alt: Option<&Alt>,
    now: Timestamp,
) -> Result<bool, Error> {
    let NewPhoto { photo, bytes, original } = new;
    if tx.execute(END_CLAIM, &[(&photo.id).into()]).await? == 0 {
        return Ok(false);
    }
    let row = PhotoRow {
        id: photo.id,
        width: photo.width,
        height: photo.height,
        placeholder: photo.placeholder.clone(),
        bytes: *bytes,
        original: original.map(|original| original.format.to_owned()),
        orientation: original.map(|original| original.orientation.into()),
        alt: alt.cloned(),
        created_at: now,
        focus: stored_focus(photo.focus),
    };
    tx.execute(PhotoRow::INSERT, &row.values()).await?;
    Ok(true)
}

pub(crate) async fn abandon(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<bool, Error> {
    let was_claimed = tx.execute(END_CLAIM, &[(&id).into()]).await? > 0;
    if was_claimed {
        begin_delete(tx, id, now).await?;
    }
    Ok(was_claimed)
}

/// Deletes a photo's row and schedules its files for deletion.
pub(crate) async fn delete(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<(), Error> {
    tx.execute(DELETE, &[(&id).into()]).await?;
    publish_gone(tx, id);
    begin_delete(tx, id, now).await
}

/// Publishes that a photo was deleted, or that its post was hidden or shown again.
pub(crate) fn publish_gone(tx: &mut Tx<'_>, id: PhotoId) {
    tx.publish(Key::photo(id));
    tx.publish(Change::Notice(Notice::PhotoGone(id)));
}

pub(crate) async fn begin_delete(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<(), Error> {
    tx.execute(BEGIN_DELETE, &[(&id).into(), now.into()]).await.map(drop)
}

/// Reads id, width, height, placeholder, alt and focus, beginning at `column`.
fn read_photo(row: &Row<'_, '_>, column: usize) -> Result<Photo, Error> {
    Ok(Photo {
        id: row.photo_id(column)?,
        width: row.unsigned(column + 1)?,
        height: row.unsigned(column + 2)?,
        placeholder: row.read_bytes(column + 3, Placeholder::from_slice)?,
        alt: row.optional_text(column + 4)?.map(Alt::from_stored),
        focus: Option::<Focus>::read(row, column + 5)?.unwrap_or_default(),
    })
}

/// The centre is NULL, as in rows from before there was a focus.
pub(crate) fn stored_focus(focus: Focus) -> Option<Focus> {
    Some(focus).filter(|focus| *focus != Focus::CENTRE)
}

pub(crate) fn read_optional_photo(row: &Row<'_, '_>, column: usize) -> Result<Option<Photo>, Error> {
    if row.is_null(column)? { Ok(None) } else { read_photo(row, column).map(Some) }
}
