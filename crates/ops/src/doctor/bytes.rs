//! Rows held against bytes: what is missing, what is left over, what should have gone.

use std::time::UNIX_EPOCH;

use blobs::Kept;
use model::{PhotoId, Timestamp};

use super::{Examination, Finding};
use crate::error::{ELSEWHERE, MoveError};
use crate::humanize::count;
use crate::photos::Shelves;
use crate::progress::Progress;

const COLLECTED: &str =
    "The service collects them within a minute of its start; `pinhole doctor --fix` does it now.";

/// So many orphans may be in an instance that is nearly empty.
const A_FEW: u64 = 20;

impl Examination<'_> {
    /// Claims that nobody redeemed.
    pub(super) async fn uploads(&self) -> Result<Finding, MoveError> {
        let store = &self.instance.store;
        let left = store.lingering(self.before(), self.before()).await?.claims;
        if left == 0 {
            return Ok(Finding::fine("uploads", "none was left half done"));
        }
        let mut mended = None;
        if self.fix {
            let mut given_up = 0;
            loop {
                // Nothing of theirs is on its way any more, so their bytes need not wait for another look.
                match store.abandon_stale_claims(self.before(), self.before()).await? {
                    0 => break,
                    some => given_up += some,
                }
            }
            mended = Some(format!("given up: {}", count(given_up as u64, "upload")));
        }
        let what = format!("{left} began over an hour ago and never ended");
        Ok(Finding::problem("uploads", what).mended_or(mended, COLLECTED))
    }

    /// Notes of bytes that should be gone, among them those of the uploads that were just given up.
    pub(super) async fn removals(&self) -> Result<Finding, MoveError> {
        let left = self.instance.store.lingering(self.before(), self.before()).await?.removals;
        let struck = if self.fix { self.strike_removals().await? } else { 0 };
        if left == 0 {
            return Ok(Finding::fine("removals", "nothing that was deleted waits to be removed"));
        }
        let mended = self.fix.then(|| format!("removed: {}", count(struck, "photo")));
        let what =
            format!("{} deleted over an hour ago, and the bytes may still be there", count(left, "photo"));
        Ok(Finding::problem("removals", what).mended_or(mended, COLLECTED))
    }

    /// What is noted for later stays: bytes of an upload that failed may arrive until then.
    async fn strike_removals(&self) -> Result<u64, MoveError> {
        let (store, blobs) = (&self.instance.store, &self.instance.blobs);
        let mut struck = 0;
        loop {
            let before = struck;
            for photo in store.removals(self.now).await? {
                if store.still_to_remove(photo).await? {
                    blobs.delete(photo).await?;
                    store.strike_removal(photo).await?;
                    struck += 1;
                }
            }
            if struck == before {
                return Ok(struck);
            }
        }
    }

    /// Rows first, then bytes: whatever comes or goes meanwhile is asked about again before it is called wrong.
    pub(super) async fn bytes(&self, progress: &dyn Progress) -> Result<[Finding; 2], MoveError> {
        let store = &self.instance.store;
        let (mut missing, mut strange, mut photos) = (Vec::new(), Vec::new(), 0);
        progress.begin("looking at photos", store.totals().await?.photos, 0);
        for (last_byte, mut shelf) in store.export(Shelves::default()).await?.each() {
            let known = shelf.len() as u64;
            for kept in self.instance.blobs.shelf(last_byte).await? {
                match shelf.remove(&kept.photo) {
                    Some(expected) if expected.is_whole(&kept) => {}
                    Some(_) => missing.push(kept.photo),
                    None if self.is_old(&kept) => strange.push(kept.photo),
                    None => {}
                }
            }
            missing.extend(shelf.into_keys());
            photos += known;
            progress.advance(known, 0);
        }
        let mut lost = Vec::new();
        for photo in missing {
            if store.photo(photo).await?.is_some() {
                lost.push(photo);
            }
        }
        let mut orphans = Vec::new();
        for photo in strange {
            // A delete strikes its note when the bytes are gone, so they are asked for last.
            if !store.expects_bytes(photo).await? && !self.instance.blobs.files(photo).await?.is_empty() {
                orphans.push(photo);
            }
        }
        Ok([whole(photos, lost), self.orphans(orphans, photos).await?])
    }

    /// What came within the last hour may be waiting for its row.
    fn is_old(&self, kept: &Kept) -> bool {
        let since = kept.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).plus(since) < self.before()
    }

    async fn orphans(&self, orphans: Vec<PhotoId>, known: u64) -> Result<Finding, MoveError> {
        if orphans.is_empty() {
            return Ok(Finding::fine("orphans", "no bytes are there without a row"));
        }
        let photos = count(orphans.len() as u64, "photo");
        let what = format!("{photos} in the blob store that no row knows");
        if let Some(doubt) = self.doubt(&orphans, known).await? {
            return Ok(Finding::problem("orphans", format!("{what}, {doubt}")).about(orphans).advice(
                "Is this the right database? With the wrong one, everybody's photos look like this, so none is \
                 removed. See that the settings name the database that belongs to these photos. If they do, and it \
                 was put back from an older copy, remove them by hand: `pinhole doctor --json` has all names.",
            ));
        }
        if self.fix {
            for photo in &orphans {
                self.instance.blobs.delete(*photo).await?;
            }
        }
        let mended = self.fix.then(|| format!("removed: {photos}"));
        Ok(Finding::problem("orphans", what)
            .about(orphans)
            .mended_or(mended, "Stop the service and run `pinhole doctor --fix`, which removes them."))
    }

    /// Why these may be somebody's after all: an old copy of the database, or that of another instance, knows
    /// nothing of them either.
    async fn doubt(&self, orphans: &[PhotoId], known: u64) -> Result<Option<String>, MoveError> {
        let newest = self.instance.store.newest().await?;
        if orphans.iter().any(|photo| photo.made_at() > newest) {
            return Ok(Some("and some are younger than all that the database knows".to_owned()));
        }
        let is_too_many = orphans.len() as u64 > known + A_FEW;
        Ok(is_too_many.then(|| format!("far more than the {known} it does know")))
    }
}

fn whole(photos: u64, lost: Vec<PhotoId>) -> Finding {
    if lost.is_empty() {
        return Finding::fine("photos", format!("all {photos} have their bytes"));
    }
    if lost.len() as u64 == photos {
        return Finding::problem("photos", "not one has its bytes").about(lost).advice(ELSEWHERE);
    }
    Finding::problem("photos", format!("{} with lost bytes", count(lost.len() as u64, "photo")))
        .about(lost)
        .advice(
            "Nothing can bring them back but a copy: restore a backup, or put their folders back from one.",
        )
}
