//! Photos, and the paper trail that keeps their bytes and their rows in step.
//!
//! The blob store and the database cannot commit together, so the database says beforehand what is
//! about to happen. A photo is *claimed* before its bytes are written and the claim is redeemed by the
//! transaction that shows it, in a post or as somebody's profile photo; it is *noted for removal* by the
//! transaction that takes it away and struck off once its bytes are gone. Whatever a crash leaves is in one of these two lists, and
//! nothing ever has to search the blob store.

use futures_util::FutureExt;
use model::{Alt, Photo, PhotoId, Placeholder, Timestamp};

use crate::changes::Change;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;

statements! {
    FIND = "SELECT id, width, height, placeholder, alt FROM photos WHERE id = $1";
    INSERT = "INSERT INTO photos
        (id, width, height, placeholder, alt, bytes, original, orientation, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    DELETE = "DELETE FROM photos WHERE id = $1";
    CLAIM = "INSERT INTO uploads (photo_id, started_at) VALUES ($1, $2)";
    REDEEM = "DELETE FROM uploads WHERE photo_id = $1";
    STALE_CLAIMS = "SELECT photo_id FROM uploads WHERE started_at < $1 ORDER BY started_at LIMIT 1000";
    NOTE_REMOVAL = "INSERT INTO removals (photo_id, since) VALUES ($1, $2) ON CONFLICT (photo_id) DO NOTHING";
    REMOVALS = "SELECT photo_id FROM removals WHERE since < $1 ORDER BY since LIMIT 1000";
    STILL_TO_REMOVE = "SELECT 1 FROM removals WHERE photo_id = $1
        AND NOT EXISTS (SELECT 1 FROM uploads WHERE photo_id = $1)
        AND NOT EXISTS (SELECT 1 FROM photos WHERE id = $1)";
    STRIKE_REMOVAL = "DELETE FROM removals WHERE photo_id = $1";
}

/// A photo whose bytes are safely stored, about to get its row.
#[derive(Debug, Clone)]
pub struct NewPhoto {
    pub photo: Photo,
    /// How many bytes it takes in the blob store.
    pub bytes: u64,
    /// What was sent, if it is kept as well.
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

    /// Announces that bytes of a photo are about to be written.
    pub async fn claim_photo(&self, id: PhotoId, now: Timestamp) -> Result<(), Error> {
        self.write(id.into(), move |tx| {
            async move { tx.execute(CLAIM, &[(&id).into(), now.into()]).await.map(drop) }.boxed()
        })
        .await
    }

    /// Gives up a claim: its bytes, if any, are noted for removal. `false` if there was none, because it
    /// has been redeemed or given up before.
    pub async fn abandon_photo(&self, id: PhotoId, now: Timestamp) -> Result<bool, Error> {
        self.write(id.into(), move |tx| async move { abandon(tx, id, now).await }.boxed()).await
    }

    /// Gives up every claim older than `before`: the uploads behind them died.
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

    /// Photos whose bytes must go, noted before `before`, oldest first.
    pub async fn removals(&self, before: Timestamp) -> Result<Vec<PhotoId>, Error> {
        self.read(move |tx| {
            async move { tx.all(REMOVALS, &[before.into()], |row| row.photo_id(0)).await }.boxed()
        })
        .await
    }

    /// Whether the bytes of this photo must go, now that it is its turn: they may have been struck off since, because
    /// somebody brings that very photo in again.
    pub async fn still_to_remove(&self, id: PhotoId) -> Result<bool, Error> {
        let found = self.read(move |tx| {
            async move { tx.first(STILL_TO_REMOVE, &[(&id).into()], |_| Ok(())).await }.boxed()
        });
        Ok(found.await?.is_some())
    }

    /// The bytes of this photo are gone.
    pub async fn strike_removal(&self, id: PhotoId) -> Result<(), Error> {
        self.write(id.into(), move |tx| {
            async move { tx.execute(STRIKE_REMOVAL, &[(&id).into()]).await.map(drop) }.boxed()
        })
        .await
    }
}

/// Turns a claim into a photo; `false` when the claim was given up meanwhile, and the bytes with it. The words for a
/// photo come along where it has no post to keep them.
pub(crate) async fn redeem(
    tx: &mut Tx<'_>,
    new: &NewPhoto,
    alt: Option<&Alt>,
    now: Timestamp,
) -> Result<bool, Error> {
    let NewPhoto { photo, bytes, original } = new;
    if tx.execute(REDEEM, &[(&photo.id).into()]).await? == 0 {
        return Ok(false);
    }
    let bytes = i64::try_from(*bytes).map_err(|_| Error::Corrupt(format!("a photo of {bytes} bytes")))?;
    let values = [
        (&photo.id).into(),
        photo.width.into(),
        photo.height.into(),
        photo.placeholder.as_slice().into(),
        alt.map(Alt::as_str).into(),
        bytes.into(),
        original.map(|original| original.format).into(),
        original.map(|original| i64::from(original.orientation)).into(),
        now.into(),
    ];
    tx.execute(INSERT, &values).await?;
    Ok(true)
}

pub(crate) async fn abandon(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<bool, Error> {
    let held = tx.execute(REDEEM, &[(&id).into()]).await? > 0;
    if held {
        note_removal(tx, id, now).await?;
    }
    Ok(held)
}

/// Deletes the row and notes that the bytes must follow.
pub(crate) async fn delete(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<(), Error> {
    tx.execute(DELETE, &[(&id).into()]).await?;
    tx.record_change(Change::Photo(id));
    note_removal(tx, id, now).await
}

async fn note_removal(tx: &mut Tx<'_>, id: PhotoId, now: Timestamp) -> Result<(), Error> {
    tx.execute(NOTE_REMOVAL, &[(&id).into(), now.into()]).await.map(drop)
}

/// Reads id, width, height, placeholder and alt beginning at `column`.
pub(crate) fn read_photo(row: &Row<'_, '_>, column: usize) -> Result<Photo, Error> {
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
