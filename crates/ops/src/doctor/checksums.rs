//! The deep check: reads every file of every photo and verifies it. With `fix` it rebuilds what it can.

use ::blobs::PhotoFile;
use futures_util::{StreamExt, stream};
use model::PhotoId;

use super::{ConsistencyCheck, Finding};
use crate::error::Error;
use crate::examined_photo::ExaminedPhoto;
use crate::expected_files::ExpectedFiles;
use crate::humanize::count;
use crate::photos::{PhotoLookup, PhotosByShard};
use crate::progress::Progress;

/// Photos that are read concurrently.
const CONCURRENT_PHOTOS: usize = 4;

#[derive(Debug, Default)]
struct Tally {
    files: u64,
    /// Masters that can be rebuilt, or were.
    rebuildable: Vec<String>,
    /// Files that only a backup has.
    lost: Vec<String>,
    /// Files that have no checksum, or got one.
    unverified: u64,
}

impl ConsistencyCheck<'_> {
    pub(super) async fn checksums(&self, progress: &dyn Progress) -> Result<Vec<Finding>, Error> {
        let store = &self.instance.store;
        let totals = store.photo_totals().await?;
        progress.begin("verifying", totals.photos, totals.bytes);
        let mut tally = Tally::default();
        for (_, shard) in store.export(PhotosByShard::default()).await?.each() {
            let photos = stream::iter(shard).map(async |(id, expected)| {
                let examined = self.examine(id, expected).await;
                progress.advance(1, expected.bytes);
                examined
            });
            let mut examined = std::pin::pin!(photos.buffer_unordered(CONCURRENT_PHOTOS));
            while let Some(photo) = examined.next().await {
                tally.add(photo?);
            }
        }
        Ok(tally.findings(self.fix))
    }

    async fn examine(&self, id: PhotoId, expected: ExpectedFiles) -> Result<Tally, Error> {
        let files = match self.instance.read_photo(id, expected).await? {
            PhotoLookup::Deleted => return Ok(Tally::default()),
            PhotoLookup::Complete(files) if files.unverified.is_empty() => {
                return Ok(Tally { files: files.intact.len() as u64, ..Tally::default() });
            }
            PhotoLookup::Complete(files) | PhotoLookup::Incomplete(files) => files,
        };
        let Some(row) = self.instance.store.photo_row(id).await? else { return Ok(Tally::default()) };
        let intact = files.intact.len() as u64;
        let examined = ExaminedPhoto::examine(row, files).await?;
        if self.fix {
            self.repair(&examined).await?;
        }
        let unverified = examined.unverified.len() as u64;
        let mut tally = Tally { files: intact, unverified, ..Tally::default() };
        for (file, line) in examined.describe() {
            let is_rebuilt = file != PhotoFile::Original && examined.rebuilt.is_some();
            if is_rebuilt { tally.rebuildable.push(line) } else { tally.lost.push(line) }
        }
        Ok(tally)
    }

    async fn repair(&self, examined: &ExaminedPhoto) -> Result<(), Error> {
        let (store, blobs) = (&self.instance.store, &self.instance.blobs);
        let id = examined.row.id;
        if !examined.unverified.is_empty() {
            blobs.add_checksums(id, examined.unverified.clone()).await?;
        }
        let Some(photo) = &examined.rebuilt else { return Ok(()) };
        for (file, bytes) in &photo.files {
            if examined.damaged.contains(file) {
                blobs.replace(id, *file, bytes.clone()).await?;
            }
        }
        if photo.is_complete(&examined.row) {
            store.set_photo_bytes(id, photo.bytes()).await?;
        }
        Ok(())
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.rebuildable.extend(other.rebuildable);
        self.lost.extend(other.lost);
        self.unverified += other.unverified;
    }

    fn findings(self, fix: bool) -> Vec<Finding> {
        let Self { files, rebuildable, lost, unverified } = self;
        let mut findings = Vec::new();
        if rebuildable.is_empty() && lost.is_empty() {
            findings.push(Finding::ok("checksum", format!("all {} are intact", count(files, "file"))));
        }
        if !rebuildable.is_empty() {
            let masters = count(rebuildable.len() as u64, "master");
            let fixed = fix.then(|| format!("rebuilt: {masters}"));
            let advice = "Stop the service and run `pinhole doctor --deep --fix`, which rebuilds them.";
            findings.push(
                Finding::error("checksum", format!("{masters} damaged or lost"))
                    .with_names(rebuildable)
                    .fixed_or(fixed, advice),
            );
        }
        if !lost.is_empty() {
            findings.push(
                Finding::error(
                    "lost",
                    format!("{} that cannot be rebuilt", count(lost.len() as u64, "file")),
                )
                .with_names(lost)
                .advice("Copy them from a backup into the folder of their photo, or delete their posts."),
            );
        }
        if unverified > 0 {
            let unverified = count(unverified, "file");
            let fixed = fix.then(|| format!("added the checksums of {unverified}"));
            findings.push(
                Finding::note("checksum", format!("{unverified} of an earlier version without a checksum"))
                    .fixed_or(fixed, "`pinhole doctor --deep --fix` adds them."),
            );
        }
        findings
    }
}
