//! Photos, and the two tables that keep their files and their rows in step.
//!
//! The blob store and the database cannot commit together, so the database records beforehand what is about
//! to happen. A photo is *claimed* in `uploads` before its files are written, and the transaction that shows
//! it, in a post or a profile, commits the upload. The transaction that takes it away inserts into
//! `removals`, and the row is deleted once the files are gone. Whatever a crash leaves is in one of these
//! tables, so the blob store never has to be searched.

use futures_util::FutureExt;
use model::{Alt, Photo, PhotoId, Placeholder, Timestamp};

use crate::changes::Change;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::statements;
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
    }
}

/// What [`read_photo`] reads, from the profile photo that a user is joined with.
pub(crate) const PROFILE_PHOTO: &str = "up.id, up.width, up.height, up.placeholder, up.alt";

statements! {
    FIND = "SELECT id, width, height, placeholder, alt FROM photos WHERE id = $1";
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

/// A photo whose files are stored, about to get its row.
#[derive(Debug, Clone)]
pub struct NewPhoto {
    pub photo: Photo,
    /// How many bytes it takes in the blob store.
    pub bytes: u64,
    /// The uploaded file, if it is kept.
    pub original: Option<Original>,
}

/// How to read a kept original: the name of its format, and its orientation as in EXIF, 1 to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original {
    pub format: &'static str,
    pub orientation: u8,
}

impl Store {
    pub async fn photo(&self, id: PhotoId) -> Result<Option<Photo>, Error> {
        self.read(move |tx| {
            async move { tx.first(FIND, &[(&id).into()], |row| read_photo(row, 0)).await }.boxed()
        })
        .await
    }

    /// Records that files of a photo are about to be written.
    pub async fn claim_photo(&self, id: PhotoId, now: Timestamp) -> Result<(), Error> {
        self.write(id.into(), move |tx| {
            async move { tx.execute(CLAIM, &[(&id).into(), now.into()]).await.map(drop) }.boxed()
        })
        .await
    }

    /// Ends a claim, and records that its files must be deleted. `false` if there was none, because the
    /// upload was committed or abandoned before.
    pub async fn abandon_photo(&self, id: PhotoId, now: Timestamp) -> Result<bool, Error> {
        self.write(id.into(), move |tx| async move { abandon(tx, id, now).await }.boxed()).await
    }

    /// Abandons every claim from before `before`: their uploads ended without an answer.
    pub async fn abandon_stale_claims(&self, before: Timestamp, now: Timestamp) -> Result<usize, Error> {
        self.write(LockKey::Maintenance, move |tx| {
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

    /// Photos whose files must be deleted since before `before`, oldest first.
    pub async fn pending_deletes(&self, before: Timestamp) -> Result<Vec<PhotoId>, Error> {
        self.read(move |tx| {
            async move { tx.all(PENDING_DELETES, &[before.into()], |row| row.photo_id(0)).await }.boxed()
        })
        .await
    }

    /// Whether the files of this photo must still be deleted: a restore may have claimed it meanwhile.
    pub async fn is_delete_pending(&self, id: PhotoId) -> Result<bool, Error> {
        let found = self.read(move |tx| {
            async move { tx.first(IS_DELETE_PENDING, &[(&id).into()], |_| Ok(())).await }.boxed()
        });
        Ok(found.await?.is_some())
    }

    /// Records that the files of this photo are deleted.
    pub async fn finish_delete(&self, id: PhotoId) -> Result<(), Error> {
        self.write(id.into(), move |tx| {
            async move { tx.execute(FINISH_DELETE, &[(&id).into()]).await.map(drop) }.boxed()
        })
        .await
    }
}

/// Turns a claim into a photo; `false` when the claim was abandoned meanwhile, and the files with it. `alt`
/// is stored where the photo has no post to store it with.
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

/// Deletes the row, and records that the files must follow.
pub(crate) async fn delete(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<(), Error> {
    tx.execute(DELETE, &[(&id).into()]).await?;
    tx.record_change(Change::Photo(id));
    begin_delete(tx, id, now).await
}

async fn begin_delete(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<(), Error> {
    tx.execute(BEGIN_DELETE, &[(&id).into(), now.into()]).await.map(drop)
}

/// Reads id, width, height, placeholder and alt, beginning at `column`.
fn read_photo(row: &Row<'_, '_>, column: usize) -> Result<Photo, Error> {
    Ok(Photo {
        id: row.photo_id(column)?,
        width: row.unsigned(column + 1)?,
        height: row.unsigned(column + 2)?,
        placeholder: row.read_bytes(column + 3, Placeholder::from_slice)?,
        alt: row.optional_text(column + 4)?.map(Alt::stored),
    })
}

pub(crate) fn read_optional_photo(row: &Row<'_, '_>, column: usize) -> Result<Option<Photo>, Error> {
    if row.is_null(column)? { Ok(None) } else { read_photo(row, column).map(Some) }
}
