//! Checks of files against rows: missing files, orphans, unfinished uploads and deletes.

use std::time::UNIX_EPOCH;

use blobs::{PhotoFiles, StoredPhoto};
use model::{PhotoId, Timestamp};

use super::{ConsistencyCheck, Finding};
use crate::error::{CHECK_BLOBS_URL, Error};
use crate::humanize::count;
use crate::photos::PhotosByShard;
use crate::progress::Progress;

const CLEANUP_ADVICE: &str =
    "The service cleans them up within a minute of its start; `pinhole doctor --fix` does it now.";

/// More orphans than photos are suspicious, but this many are plausible even in an empty instance.
const PLAUSIBLE_ORPHANS: u64 = 20;

impl ConsistencyCheck<'_> {
    /// Claims of uploads that never finished.
    pub(super) async fn uploads(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let overdue = store.overdue(self.cutoff(), self.cutoff()).await?.uploads;
        if overdue == 0 {
            return Ok(Finding::ok("uploads", "none is unfinished"));
        }
        let mut fixed = None;
        if self.fix {
            let mut abandoned = 0;
            loop {
                // No write of these uploads is in flight after an hour, so their files are deleted at once.
                match store.abandon_stale_claims(self.cutoff(), self.cutoff()).await? {
                    0 => break,
                    some => abandoned += some,
                }
            }
            fixed = Some(format!("abandoned: {}", count(abandoned as u64, "upload")));
        }
        let what = format!("{overdue} started over an hour ago and never finished");
        Ok(Finding::error("uploads", what).fixed_or(fixed, CLEANUP_ADVICE))
    }

    /// Pending deletes of files, including those of uploads that `uploads` has just abandoned.
    pub(super) async fn removals(&self) -> Result<Finding, Error> {
        let overdue = self.instance.store.overdue(self.cutoff(), self.cutoff()).await?.removals;
        let deleted = if self.fix { self.finish_deletes().await? } else { 0 };
        if overdue == 0 {
            return Ok(Finding::ok("removals", "no delete is pending"));
        }
        let fixed = self.fix.then(|| format!("deleted: {}", count(deleted, "photo")));
        let what =
            format!("{} deleted over an hour ago, whose files may still exist", count(overdue, "photo"));
        Ok(Finding::error("removals", what).fixed_or(fixed, CLEANUP_ADVICE))
    }

    /// Deletes that are scheduled for later stay pending: late writes of a failed upload are possible until
    /// then.
    async fn finish_deletes(&self) -> Result<u64, Error> {
        let (store, blobs) = (&self.instance.store, &self.instance.blobs);
        let mut deleted = 0;
        loop {
            let before = deleted;
            for photo in store.pending_deletes(self.now).await? {
                if store.is_delete_pending(photo).await? {
                    blobs.delete(photo).await?;
                    store.finish_delete(photo).await?;
                    deleted += 1;
                }
            }
            if deleted == before {
                return Ok(deleted);
            }
        }
    }

    /// Compares a snapshot of the rows with listings of the files, then checks every difference again,
    /// because a running service adds and deletes photos.
    pub(super) async fn files(&self, progress: &dyn Progress) -> Result<[Finding; 2], Error> {
        let store = &self.instance.store;
        let (mut missing, mut unknown, mut photos) = (Vec::new(), Vec::new(), 0);
        progress.begin("checking", store.photo_totals().await?.photos, 0);
        for (last_byte, mut shard) in store.export(PhotosByShard::default()).await?.each() {
            let known = shard.len() as u64;
            for stored in self.instance.blobs.list_shard(last_byte).await? {
                match shard.remove(&stored.photo) {
                    Some(expected) if expected.is_complete(&stored) => {}
                    Some(_) => missing.push(stored.photo),
                    None if self.is_old(&stored) => unknown.push(stored.photo),
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
            // A delete removes the files before its pending row, so the files are checked last.
            if !store.is_photo_referenced(photo).await?
                && self.instance.blobs.files(photo).await? != PhotoFiles::default()
            {
                orphans.push(photo);
            }
        }
        Ok([missing_files(photos, lost), self.orphans(orphans, photos).await?])
    }

    /// Files of the last hour may belong to an upload in progress.
    fn is_old(&self, stored: &StoredPhoto) -> bool {
        let since = stored.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(0).plus(since) < self.cutoff()
    }

    async fn orphans(&self, orphans: Vec<PhotoId>, known: u64) -> Result<Finding, Error> {
        if orphans.is_empty() {
            return Ok(Finding::ok("orphans", "no files exist without a row"));
        }
        let photos = count(orphans.len() as u64, "photo");
        let what = format!("{photos} in the blob store without a row");
        if let Some(evidence) = self.wrong_database_evidence(&orphans, known).await? {
            return Ok(Finding::error("orphans", format!("{what}, {evidence}")).with_names(orphans).advice(
                "Is this the right database? With the wrong one, all photos look like orphans, so none is \
                 deleted. Check that the settings name the database of these photos. If they do, and the database \
                 was restored from an older copy, delete them by hand: `pinhole doctor --json` lists all ids.",
            ));
        }
        if self.fix {
            for photo in &orphans {
                self.instance.blobs.delete(*photo).await?;
            }
        }
        let fixed = self.fix.then(|| format!("deleted: {photos}"));
        Ok(Finding::error("orphans", what)
            .with_names(orphans)
            .fixed_or(fixed, "Stop the service and run `pinhole doctor --fix`, which deletes them."))
    }

    /// Evidence that these are no orphans, but that the database is an old copy or of another instance.
    async fn wrong_database_evidence(
        &self,
        orphans: &[PhotoId],
        known: u64,
    ) -> Result<Option<String>, Error> {
        let newest = self.instance.store.newest_timestamp().await?;
        if orphans.iter().any(|photo| photo.created_at() > newest) {
            return Ok(Some("and some are younger than every row of the database".to_owned()));
        }
        let is_too_many = orphans.len() as u64 > known + PLAUSIBLE_ORPHANS;
        Ok(is_too_many.then(|| format!("far more than the {known} that have one")))
    }
}

fn missing_files(photos: u64, lost: Vec<PhotoId>) -> Finding {
    if lost.is_empty() {
        return Finding::ok("photos", format!("all {photos} have their files"));
    }
    if lost.len() as u64 == photos {
        return Finding::error("photos", "none has its files").with_names(lost).advice(CHECK_BLOBS_URL);
    }
    Finding::error(
        "photos",
        format!("{} with missing or incomplete files", count(lost.len() as u64, "photo")),
    )
    .with_names(lost)
    .advice(
        "`pinhole doctor --deep` tells which files can be rebuilt. For the others, restore a backup, or copy the \
         folders of these photos from one.",
    )
}
