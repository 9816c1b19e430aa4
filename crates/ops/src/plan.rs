//! What a move would have to do, told without doing it.

use std::collections::HashMap;

use blobs::Kept;
use model::PhotoId;
use store::Census;

use crate::error::MoveError;
use crate::instance::Instance;
use crate::photos::Shelves;
use crate::progress::Progress;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Plan {
    pub photos: u64,
    pub bytes: u64,
    /// Those of them that are at the new place already, as far as names and lengths tell.
    pub are_there: u64,
    pub bytes_there: u64,
    /// Photos whose files are missing at the old place.
    pub missing: Vec<PhotoId>,
    pub census: Census,
}

/// Looks at both ends, and refuses what a move would refuse. `to` is not there where nothing has been made yet.
pub async fn plan(
    from: &Instance,
    to: Option<&Instance>,
    progress: &dyn Progress,
) -> Result<Plan, MoveError> {
    if let Some(to) = to {
        let facts_move = !from.places.database.is(&to.places.database);
        if !facts_move && from.places.blobs.is(&to.places.blobs) {
            return Err(MoveError::SamePlace { place: to.places.database.to_string() });
        }
        if facts_move {
            to.expect_empty().await?;
        }
    }
    let census = from.store.census().await?;
    let mut plan = Plan { census, ..Plan::default() };
    progress.begin("looking", census.photos, 0);
    for (last_byte, shelf) in from.store.export(Shelves::default()).await?.each() {
        let kept = by_photo(from.blobs.shelf(last_byte).await?);
        let there = match to {
            Some(to) => by_photo(to.blobs.shelf(last_byte).await?),
            None => HashMap::new(),
        };
        for (id, expected) in &shelf {
            plan.photos += 1;
            plan.bytes += expected.bytes;
            if there.get(id).is_some_and(|kept| expected.is_whole(kept)) {
                plan.are_there += 1;
                plan.bytes_there += expected.bytes;
            }
            let is_whole = kept.get(id).is_some_and(|kept| expected.is_whole(kept));
            if !is_whole && from.store.photo(*id).await?.is_some() {
                plan.missing.push(*id);
            }
        }
        progress.advance(shelf.len() as u64, 0);
    }
    Ok(plan)
}

fn by_photo(kept: Vec<Kept>) -> HashMap<PhotoId, Kept> {
    kept.into_iter().map(|kept| (kept.photo, kept)).collect()
}
