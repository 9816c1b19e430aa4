//! The dry run of a migration: what it would have to do.

use std::collections::HashMap;

use blobs::Kept;
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
    /// Photos at the destination already, by the names and lengths of their files.
    pub already_copied: u64,
    pub bytes_already_copied: u64,
    /// Photos whose files are missing at the source.
    pub missing: Vec<PhotoId>,
    pub counts: TableCounts,
}

/// Reads both ends, and refuses what a migration would refuse. `to` is `None` while there is no destination
/// yet.
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
    progress.begin("examining", counts.photos, 0);
    for (last_byte, shard) in from.store.export(PhotosByShard::default()).await?.each() {
        let kept = by_photo(from.blobs.shelf(last_byte).await?);
        let there = match to {
            Some(to) => by_photo(to.blobs.shelf(last_byte).await?),
            None => HashMap::new(),
        };
        for (id, expected) in &shard {
            plan.photos += 1;
            plan.bytes += expected.bytes;
            if there.get(id).is_some_and(|kept| expected.is_complete(kept)) {
                plan.already_copied += 1;
                plan.bytes_already_copied += expected.bytes;
            }
            let is_complete = kept.get(id).is_some_and(|kept| expected.is_complete(kept));
            if !is_complete && from.store.photo(*id).await?.is_some() {
                plan.missing.push(*id);
            }
        }
        progress.advance(shard.len() as u64, 0);
    }
    Ok(plan)
}

fn by_photo(kept: Vec<Kept>) -> HashMap<PhotoId, Kept> {
    kept.into_iter().map(|kept| (kept.photo, kept)).collect()
}
