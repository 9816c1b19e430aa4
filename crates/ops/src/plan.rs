//! The dry run of a migration.

use std::collections::HashMap;

use blobs::StoredPhoto;
use model::PhotoId;
use store::TableCounts;

use crate::error::Error;
use crate::instance::Instance;
use crate::photos::PhotosByShard;
use crate::progress::Progress;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Plan {
    pub photos: u64,
    pub bytes: u64,
    /// Photos that the destination has already, compared by the names and lengths of their files.
    pub already_copied: u64,
    pub bytes_already_copied: u64,
    /// Photos whose files are missing at the source.
    pub missing: Vec<PhotoId>,
    pub counts: TableCounts,
}

/// Reads source and destination, and returns the errors that a migration would. `to` is `None` if the
/// destination does not exist yet.
pub async fn plan(from: &Instance, to: Option<&Instance>, progress: &dyn Progress) -> Result<Plan, Error> {
    if let Some(to) = to {
        let rows_move = !from.location.database.is_same(&to.location.database);
        if !rows_move && from.location.blobs.is_same(&to.location.blobs) {
            return Err(Error::SameLocation { location: to.location.database.to_string() });
        }
        if rows_move {
            to.ensure_empty().await?;
        }
    }
    let counts = from.store.table_counts().await?;
    let mut plan = Plan { counts, ..Plan::default() };
    progress.begin("checking", counts.photos, 0);
    for (last_byte, shard) in from.store.export(PhotosByShard::default()).await?.each() {
        let source = by_photo(from.blobs.list_shard(last_byte).await?);
        let existing = match to {
            Some(to) => by_photo(to.blobs.list_shard(last_byte).await?),
            None => HashMap::new(),
        };
        for (id, expected) in &shard {
            plan.photos += 1;
            plan.bytes += expected.bytes;
            if existing.get(id).is_some_and(|stored| expected.is_complete(stored)) {
                plan.already_copied += 1;
                plan.bytes_already_copied += expected.bytes;
            }
            let is_complete = source.get(id).is_some_and(|stored| expected.is_complete(stored));
            if !is_complete && from.store.photo(*id).await?.is_some() {
                plan.missing.push(*id);
            }
        }
        progress.advance(shard.len() as u64, 0);
    }
    Ok(plan)
}

fn by_photo(stored: Vec<StoredPhoto>) -> HashMap<PhotoId, StoredPhoto> {
    stored.into_iter().map(|stored| (stored.photo, stored)).collect()
}
