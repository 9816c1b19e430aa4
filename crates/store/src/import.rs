//! Imports the rows of another database.
//!
//! Photos arrive like uploads: claimed, then their files are written, and the transaction that imports the
//! rows ends the claims. So an attempt that fails half-way leaves claims, which the service collects at its
//! next start together with their files, or which the next attempt takes over.

use futures_util::FutureExt;
use model::{PhotoId, Timestamp};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::tables::{ExportRow, TableCounts, sequences};
use crate::tx::Tx;
use crate::value::Value;

statements! {
    CLAIM_AGAIN = "INSERT INTO uploads (photo_id, started_at) VALUES ($1, $2)
        ON CONFLICT (photo_id) DO UPDATE SET started_at = excluded.started_at";
    // Recorded when an earlier attempt was abandoned: the files are needed again.
    CANCEL_DELETE = "DELETE FROM removals WHERE photo_id = $1";
    END_CLAIM = "DELETE FROM uploads WHERE photo_id = $1";
}

/// Rows that are inserted with one call.
const BATCH: usize = 500;

/// How the files of photos got to where the service will look for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobState {
    /// They were copied, each photo under a claim.
    Claimed,
    /// They have been there all along: only the rows move.
    InPlace,
}

impl Store {
    /// Records that files of these photos are about to be written. Claims of an earlier attempt are renewed.
    pub async fn claim_photos(&self, ids: Vec<PhotoId>, now: Timestamp) -> Result<(), Error> {
        self.write(LockKey::Maintenance, move |tx| {
            async move {
                let cancelled: Vec<Vec<Value<'_>>> = ids.iter().map(|id| vec![id.into()]).collect();
                tx.execute_each(CANCEL_DELETE, &cancelled).await?;
                let claimed: Vec<Vec<Value<'_>>> = ids.iter().map(|id| vec![id.into(), now.into()]).collect();
                tx.execute_each(CLAIM_AGAIN, &claimed).await.map(drop)
            }
            .boxed()
        })
        .await
    }

    /// Imports rows in the order of `Table::ALL` into an empty database; all of them or, when one
    /// is an error, none. `rows` may block.
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
        return Err(Error::Refused("the database is not empty".into()));
    }
    let mut batch: Vec<ExportRow> = Vec::with_capacity(BATCH);
    for row in rows {
        let row = row?;
        if batch.len() == BATCH || batch.first().is_some_and(|first| first.table() != row.table()) {
            insert(tx, photos, &batch).await?;
            batch.clear();
        }
        batch.push(row);
    }
    insert(tx, photos, &batch).await?;
    TableCounts::select(tx).await
}

/// Inserts rows of one table.
async fn insert(tx: &mut Tx<'_>, photos: BlobState, batch: &[ExportRow]) -> Result<(), Error> {
    for row in batch {
        match row {
            ExportRow::Photo(photo) if photos == BlobState::Claimed => end_claim(tx, photo.id).await?,
            ExportRow::Sequence(sequence) => set_sequence(tx, &sequence.table, sequence.last).await?,
            _ => break,
        }
    }
    let Some(table) = batch.first().and_then(|row| row.table().spec()) else { return Ok(()) };
    let values: Vec<Vec<Value<'_>>> = batch.iter().map(ExportRow::values).collect();
    tx.execute_each(table.insert, &values).await.map(drop)
}

/// A claim that does not exist any more was abandoned, and the files deleted.
async fn end_claim(tx: &mut Tx<'_>, photo: PhotoId) -> Result<(), Error> {
    if tx.execute(END_CLAIM, &[(&photo).into()]).await? == 0 {
        return Err(Error::Refused(format!("the bytes of photo {photo} are not there")));
    }
    Ok(())
}

async fn set_sequence(tx: &mut Tx<'_>, table: &str, last: i64) -> Result<(), Error> {
    if !sequences().any(|(known, _)| known == table) {
        return Err(Error::Refused(format!("{table} is not a table that hands out ids")));
    }
    tx.set_sequence(table, last).await
}
