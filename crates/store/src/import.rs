//! Imports the exported rows of another database.
//!
//! Photos are imported like uploads: claimed, then their files are written, then the transaction that inserts
//! the rows deletes the claims. An import that fails leaves claims, which the next import renews, or which
//! maintenance abandons, deleting their files.

use futures_util::FutureExt;
use model::{PhotoId, Timestamp};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::tables::{ExportRow, TableCounts};
use crate::tags;
use crate::tx::Tx;
use crate::value::Value;

statements! {
    CLAIM_OR_RENEW = "INSERT INTO uploads (photo_id, started_at) VALUES ($1, $2)
        ON CONFLICT (photo_id) DO UPDATE SET started_at = excluded.started_at";
    // Scheduled when an earlier import was abandoned; the files are needed again.
    CANCEL_DELETE = "DELETE FROM removals WHERE photo_id = $1";
    END_CLAIM = "DELETE FROM uploads WHERE photo_id = $1";
    // Of earlier starts: an instance without users has no others.
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE expires_at > 0";
}

/// Rows inserted in one round trip.
const BATCH: usize = 500;

/// Whether an import comes with the files of its photos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobState {
    /// The files were copied to this blob store, each photo under a claim.
    Claimed,
    /// The blob store stays the same: only rows are imported.
    InPlace,
}

impl Store {
    /// Claims photos before their files are written. Claims of an earlier import are renewed.
    pub async fn claim_photos(&self, ids: Vec<PhotoId>, now: Timestamp) -> Result<(), Error> {
        self.write(LockKey::Maintenance, move |tx| {
            async move {
                let cancelled: Vec<Vec<Value<'_>>> = ids.iter().map(|id| vec![id.into()]).collect();
                tx.execute_each(CANCEL_DELETE, &cancelled).await?;
                let claimed: Vec<Vec<Value<'_>>> = ids.iter().map(|id| vec![id.into(), now.into()]).collect();
                tx.execute_each(CLAIM_OR_RENEW, &claimed).await.map(drop)
            }
            .boxed()
        })
        .await
    }

    /// Imports rows in the order of `Table::ALL` into an empty database: all of them, or none if one is an
    /// error. `rows` may block.
    pub async fn import(
        &self,
        photos: BlobState,
        rows: impl Iterator<Item = Result<ExportRow, Error>> + Send + 'static,
    ) -> Result<TableCounts, Error> {
        self.write_once(move |tx| async move { import(tx, photos, rows).await }.boxed()).await
    }
}

async fn import(
    tx: &mut Tx<'_>,
    photos: BlobState,
    rows: impl Iterator<Item = Result<ExportRow, Error>> + Send,
) -> Result<TableCounts, Error> {
    if !TableCounts::select(tx).await?.is_empty() {
        return Err(Error::ImportRejected("the database is not empty".into()));
    }
    tx.execute(DELETE_INVITATIONS, &[]).await?;
    let mut batch: Vec<ExportRow> = Vec::with_capacity(BATCH);
    for row in rows {
        let row = row?;
        // Here and not only in the tools: past this point values are trusted, and pages are built from them.
        row.validate().map_err(|rule| {
            Error::ImportRejected(format!("the row of {} with {row} breaks a rule: {rule}", row.table()))
        })?;
        if batch.len() == BATCH || batch.first().is_some_and(|first| first.table() != row.table()) {
            insert(tx, photos, &batch).await?;
            batch.clear();
        }
        batch.push(row);
    }
    insert(tx, photos, &batch).await?;
    if let Some(error) = tx.reference_errors().await?.into_iter().next() {
        return Err(Error::ImportRejected(error));
    }
    TableCounts::select(tx).await
}

/// Inserts rows of one table.
async fn insert(tx: &mut Tx<'_>, photos: BlobState, batch: &[ExportRow]) -> Result<(), Error> {
    for row in batch {
        match row {
            ExportRow::Photo(photo) if photos == BlobState::Claimed => end_claim(tx, photo.id).await?,
            ExportRow::Sequence(sequence) => tx.set_sequence(&sequence.table, sequence.last).await?,
            _ => break,
        }
    }
    let Some(table) = batch.first().and_then(|row| row.table().spec()) else { return Ok(()) };
    let values: Vec<Vec<Value<'_>>> = batch.iter().map(ExportRow::values).collect();
    tx.execute_each(table.insert, &values).await?;
    let tagged = batch.iter().filter_map(|row| match row {
        ExportRow::Post(post) => Some((post.id, post.message.as_ref())),
        _ => None,
    });
    let tagged: Vec<_> = tagged.filter(|(_, message)| tags::may_have_tags(*message)).collect();
    tags::replace(tx, &tagged).await
}

/// Deletes a photo's claim. Without a claim its files do not exist: they were not copied, or were deleted
/// again.
async fn end_claim(tx: &mut Tx<'_>, photo: PhotoId) -> Result<(), Error> {
    if tx.execute(END_CLAIM, &[(&photo).into()]).await? == 0 {
        return Err(Error::ImportRejected(format!("the files of photo {photo} are missing")));
    }
    Ok(())
}
