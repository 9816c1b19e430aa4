//! Checks of files against rows: missing files, orphans, unfinished uploads and deletes.

use std::time::UNIX_EPOCH;

use blobs::Kept;
use model::{PhotoId, Timestamp};

use super::{Examination, Finding};
use crate::error::{CHECK_BLOBS_URL, Error};
use crate::humanize::count;
use crate::photos::PhotosByShard;
use crate::progress::Progress;

const COLLECTED: &str =
    "The service collects them within a minute of its start; `pinhole doctor --fix` does it now.";

/// Orphans that are plausible even in an instance that is nearly empty.
const PLAUSIBLE_ORPHANS: u64 = 20;

impl Examination<'_> {
    /// Claims of uploads that never finished.
    pub(super) async fn uploads(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let left = store.overdue(self.cutoff(), self.cutoff()).await?.uploads;
        if left == 0 {
            return Ok(Finding::ok("uploads", "none was left half done"));
        }
        let mut fixed = None;
        if self.fix {
            let mut given_up = 0;
            loop {
                // No write of theirs is in flight any more, so their files can be removed at once.
                match store.abandon_stale_claims(self.cutoff(), self.cutoff()).await? {
                    0 => break,
                    some => given_up += some,
                }
            }
            fixed = Some(format!("given up: {}", count(given_up as u64, "upload")));
        }
        let what = format!("{left} began over an hour ago and never ended");
        Ok(Finding::problem("uploads", what).fixed_or(fixed, COLLECTED))
    }

    /// Pending removals, among them those of uploads that were just abandoned.
    pub(super) async fn removals(&self) -> Result<Finding, Error> {
        let left = self.instance.store.overdue(self.cutoff(), self.cutoff()).await?.removals;
        let removed = if self.fix { self.finish_removals().await? } else { 0 };
        if left == 0 {
            return Ok(Finding::ok("removals", "nothing that was deleted waits to be removed"));
        }
        let fixed = self.fix.then(|| format!("removed: {}", count(removed, "photo")));
        let what =
            format!("{} deleted over an hour ago, and the bytes may still be there", count(left, "photo"));
        Ok(Finding::problem("removals", what).fixed_or(fixed, COLLECTED))
    }

    /// Removals scheduled for later stay: files of a failed upload may arrive until then.
    async fn finish_removals(&self) -> Result<u64, Error> {
        let (store, blobs) = (&self.instance.store, &self.instance.blobs);
        let mut removed = 0;
        loop {
            let before = removed;
            for photo in store.pending_deletes(self.now).await? {
                if store.is_delete_pending(photo).await? {
                    blobs.delete(photo).await?;
                    store.finish_delete(photo).await?;
                    removed += 1;
                }
            }
            if removed == before {
                return Ok(removed);
            }
        }
    }

    /// Rows first, then files. What differs is checked again, because a running service adds and deletes
    /// photos.
    pub(super) async fn files(&self, progress: &dyn Progress) -> Result<[Finding; 2], Error> {
        let store = &self.instance.store;
        let (mut missing, mut unknown, mut photos) = (Vec::new(), Vec::new(), 0);
        progress.begin("examining", store.totals().await?.photos, 0);
        for (last_byte, mut shard) in store.export(PhotosByShard::default()).await?.each() {
            let known = shard.len() as u64;
            for kept in self.instance.blobs.shelf(last_byte).await? {
                match shard.remove(&kept.photo) {
                    Some(expected) if expected.is_complete(&kept) => {}
                    Some(_) => missing.push(kept.photo),
                    None if self.is_old(&kept) => unknown.push(kept.photo),
                    None => {}
                }
            }
            missing.extend(shard.into_keys());
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
        for photo in unknown {
            // A delete finishes its removal after the files are gone, so files are checked last.
            if !store.expects_bytes(photo).await? && !self.instance.blobs.files(photo).await?.is_empty() {
                orphans.push(photo);
            }
        }
        Ok([completeness(photos, lost), self.orphans(orphans, photos).await?])
    }

    /// Files of the last hour may belong to an upload in progress.
    fn is_old(&self, kept: &Kept) -> bool {
        let since = kept.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).plus(since) < self.cutoff()
    }

    async fn orphans(&self, orphans: Vec<PhotoId>, known: u64) -> Result<Finding, Error> {
        if orphans.is_empty() {
            return Ok(Finding::ok("orphans", "no bytes are there without a row"));
        }
        let photos = count(orphans.len() as u64, "photo");
        let what = format!("{photos} in the blob store that no row knows");
        if let Some(doubt) = self.doubt(&orphans, known).await? {
            return Ok(Finding::problem("orphans", format!("{what}, {doubt}")).about(orphans).advice(
                "Is this the right database? With the wrong one, all photos look like orphans, so none is \
                 removed. See that the settings name the database that belongs to these photos. If they do, and it \
                 was put back from an older copy, remove them by hand: `pinhole doctor --json` has all names.",
            ));
        }
        if self.fix {
            for photo in &orphans {
                self.instance.blobs.delete(*photo).await?;
            }
        }
        let fixed = self.fix.then(|| format!("removed: {photos}"));
        Ok(Finding::problem("orphans", what)
            .about(orphans)
            .fixed_or(fixed, "Stop the service and run `pinhole doctor --fix`, which removes them."))
    }

    /// Why these may not be orphans: an old copy of the database, or that of another instance, does not know
    /// them either.
    async fn doubt(&self, orphans: &[PhotoId], known: u64) -> Result<Option<String>, Error> {
        let newest = self.instance.store.newest().await?;
        if orphans.iter().any(|photo| photo.made_at() > newest) {
            return Ok(Some("and some are younger than all that the database knows".to_owned()));
        }
        let is_too_many = orphans.len() as u64 > known + PLAUSIBLE_ORPHANS;
        Ok(is_too_many.then(|| format!("far more than the {known} it does know")))
    }
}

fn completeness(photos: u64, lost: Vec<PhotoId>) -> Finding {
    if lost.is_empty() {
        return Finding::ok("photos", format!("all {photos} have their bytes"));
    }
    if lost.len() as u64 == photos {
        return Finding::problem("photos", "not one has its bytes").about(lost).advice(CHECK_BLOBS_URL);
    }
    Finding::problem("photos", format!("{} with lost bytes", count(lost.len() as u64, "photo")))
        .about(lost)
        .advice(
            "Nothing can bring them back but a copy: restore a backup, or put their folders back from one.",
        )
}
