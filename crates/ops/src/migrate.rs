//! Migration of an instance to another database, another blob store, or both.
//!
//! Files are immutable, so they are copied while the service runs, any number of times; rows change, so they
//! are copied once, at the end, while the service is stopped. That is minutes of downtime instead of the
//! hours that the files take, and needs no change tracking.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use blobs::{PhotoFiles, StoredPhoto};
use futures_util::{StreamExt, stream};
use model::{Clock, PhotoId};
use sha2::{Digest, Sha256};
use store::{BlobState, ExportRow, Sink, Table};

use crate::archive::{RowSpool, SpooledRows};
use crate::error::Error;
use crate::expected_files::ExpectedFiles;
use crate::instance::Instance;
use crate::photos::{PhotoLookup, PhotosByShard};
use crate::progress::Progress;
use crate::row_rules::RowRules;

/// Photos that are copied concurrently.
const CONCURRENT_PHOTOS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Files only, while the service may run; files that the destination has are compared byte by byte.
    Copy,
    /// The remaining files and all rows; files that the destination has are compared by name and length.
    Finish,
    /// Compares every row and every byte; writes nothing.
    Verify,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct MigrateReport {
    pub photos: u64,
    /// Photos that this run copied, and the size of their files.
    pub copied: u64,
    pub bytes: u64,
    /// Rows that were imported or compared.
    pub rows: u64,
    /// Whether an earlier run had imported the rows.
    pub rows_already_present: bool,
    /// Photos at the destination that have neither a row nor a claim, counted by `Mode::Finish`.
    pub orphans: u64,
}

/// Migrates `from` to `to`. A database or blob store that is the same in both is not copied.
pub async fn migrate(
    from: &Instance,
    to: &Instance,
    mode: Mode,
    clock: &Clock,
    progress: Arc<dyn Progress>,
) -> Result<MigrateReport, Error> {
    let rows_move = !from.location.database.is_same(&to.location.database);
    let blobs_move = !from.location.blobs.is_same(&to.location.blobs);
    if !rows_move && !blobs_move {
        return Err(Error::SameLocation { location: to.location.database.to_string() });
    }
    let folder = std::env::temp_dir();
    let spool =
        if mode == Mode::Copy { RowSpool::photos_only(&folder) } else { RowSpool::all_tables(&folder) };
    let spool = from.store.export(spool.map_err(Error::Spool)?).await?;
    let spool = spool.finish().map_err(Error::Spool)?;

    // Rows at the destination come from an earlier run, or belong to another instance.
    let is_finished = rows_move && mode != Mode::Copy && !to.store.table_counts().await?.is_empty();
    if rows_move && !is_finished {
        to.ensure_empty().await?;
    }
    if is_finished && fingerprint(&to.store).await? != fingerprint_of(&spool)? {
        return Err(match mode {
            Mode::Verify => rows_mismatch(),
            _ => Error::NotEmpty {
                location: to.location.database.to_string(),
                counts: Box::new(to.store.table_counts().await?),
            },
        });
    }

    if mode == Mode::Finish && rows_move && !is_finished {
        check_rows(&spool)?;
    }

    let mut report = MigrateReport::default();
    if blobs_move {
        // Files are written before their rows, so they are claimed: the service collects claims without rows.
        let claims = rows_move && !is_finished && mode != Mode::Verify;
        let copier = PhotoCopier { from, to, mode, claims, is_finished, clock };
        report = copier.copy_all(&spool, &*progress).await?;
    }
    match mode {
        Mode::Copy => return Ok(report),
        Mode::Verify if rows_move && !is_finished => return Err(Error::RowsNotCopied),
        Mode::Finish if rows_move && !is_finished => {
            // Checked before the import too, because a failure after it requires emptying the destination.
            ensure_unwritten(from, &spool, None).await?;
            progress.note("importing rows");
            let blob_state = if blobs_move { BlobState::Claimed } else { BlobState::InPlace };
            let rows = spool.rows();
            let rows = rows.map(|row| row.map_err(|error| store::Error::ImportRejected(error.to_string())));
            to.store.import(blob_state, rows).await?;
            if fingerprint(&to.store).await? != fingerprint_of(&spool)? {
                return Err(rows_mismatch());
            }
        }
        Mode::Finish | Mode::Verify => {}
    }
    if mode == Mode::Finish {
        let imported_into = rows_move.then(|| to.location.database.to_string());
        ensure_unwritten(from, &spool, imported_into).await?;
    }
    if rows_move {
        report.rows = fingerprint_of(&spool)?.rows();
        report.rows_already_present = is_finished;
    }
    Ok(report)
}

/// Finds a row that an import would refuse before anything is copied.
fn check_rows(spool: &SpooledRows) -> Result<(), Error> {
    let mut rules = RowRules::default();
    for row in spool.rows() {
        let row = row.map_err(Error::Spool)?;
        let invalid = |rule| Error::InvalidRow { table: row.table(), row: row.to_string(), rule };
        rules.check(&row, None).map_err(invalid)?;
    }
    Ok(())
}

fn rows_mismatch() -> Error {
    Error::Mismatch { what: "the content of the databases".to_owned(), is_finished: true }
}

/// Copies the files of photos, shard by shard.
struct PhotoCopier<'a> {
    from: &'a Instance,
    to: &'a Instance,
    mode: Mode,
    claims: bool,
    /// Whether the rows were imported; `Mode::Copy` is refused from then on.
    is_finished: bool,
    clock: &'a Clock,
}

impl PhotoCopier<'_> {
    async fn copy_all(&self, spool: &SpooledRows, progress: &dyn Progress) -> Result<MigrateReport, Error> {
        let (photos, bytes) = spool.totals();
        progress.begin(if self.mode == Mode::Verify { "comparing" } else { "copying" }, photos, bytes);
        let shards = PhotosByShard::of(spool.photos()).map_err(Error::Spool)?;
        let mut report = MigrateReport { photos, ..MigrateReport::default() };
        let (mut missing, mut not_copied) = (Vec::new(), 0);
        for (last_byte, shard) in shards.each() {
            if self.claims && !shard.is_empty() {
                self.to.store.claim_photos(shard.keys().copied().collect(), self.clock.now()).await?;
            }
            let existing = self.to.blobs.list_shard(last_byte).await?;
            let existing: HashMap<PhotoId, StoredPhoto> =
                existing.into_iter().map(|stored| (stored.photo, stored)).collect();
            if self.mode == Mode::Finish {
                let unknown = existing.keys().copied().filter(|id| !shard.contains_key(id));
                report.orphans += self.count_orphans(unknown).await?;
            }
            let copies = stream::iter(&shard).map(async |(id, expected)| {
                Ok::<_, Error>((
                    *id,
                    expected.bytes,
                    self.copy_photo(*id, *expected, existing.get(id)).await?,
                ))
            });
            let mut copies = std::pin::pin!(copies.buffer_unordered(CONCURRENT_PHOTOS));
            while let Some(outcome) = copies.next().await {
                let (id, bytes, outcome) = outcome?;
                match outcome {
                    CopyOutcome::Copied => {
                        report.copied += 1;
                        report.bytes += bytes;
                    }
                    CopyOutcome::Missing => missing.push(id),
                    CopyOutcome::NotCopied => not_copied += 1,
                    CopyOutcome::Deleted if self.mode == Mode::Finish => {
                        return Err(Error::SourceStillWritten { photo: id });
                    }
                    CopyOutcome::Same | CopyOutcome::Deleted => {}
                }
                progress.advance(1, bytes);
            }
        }
        if !missing.is_empty() {
            return Err(Error::missing(missing, photos));
        }
        if not_copied > 0 {
            let is_finished = self.is_finished;
            return Err(Error::PhotosNotCopied { copied: photos - not_copied, photos, is_finished });
        }
        Ok(report)
    }

    /// How many of these photos without a row have no claim either. A photo that was deleted at the source
    /// after it was copied is claimed if rows are migrated too, and the service collects it; if only files
    /// are, it is an orphan that `doctor --fix` removes.
    async fn count_orphans(&self, unknown: impl Iterator<Item = PhotoId>) -> Result<u64, Error> {
        let mut orphans = 0;
        for id in unknown {
            if !self.to.store.is_photo_referenced(id).await? {
                orphans += 1;
            }
        }
        Ok(orphans)
    }

    async fn copy_photo(
        &self,
        id: PhotoId,
        expected: ExpectedFiles,
        existing: Option<&StoredPhoto>,
    ) -> Result<CopyOutcome, Error> {
        // Its bytes were compared by `Mode::Copy`, and files are immutable.
        if self.mode == Mode::Finish && existing.is_some_and(|stored| expected.is_complete(stored)) {
            return Ok(CopyOutcome::Same);
        }
        let files = match self.from.read_photo(id, expected).await? {
            PhotoLookup::Complete(files) => files.intact,
            PhotoLookup::Deleted => return Ok(CopyOutcome::Deleted),
            PhotoLookup::Incomplete(_) => return Ok(CopyOutcome::Missing),
        };
        if self.mode != Mode::Verify {
            return Ok(if self.to.put_verified(id, &files).await? {
                CopyOutcome::Copied
            } else {
                CopyOutcome::Same
            });
        }
        match self.to.blobs.files(id).await? {
            copy if copy.intact == files => Ok(CopyOutcome::Same),
            copy if copy == PhotoFiles::default() => Ok(CopyOutcome::NotCopied),
            _ => Err(Error::Mismatch { what: format!("photo {id}"), is_finished: self.is_finished }),
        }
    }
}

enum CopyOutcome {
    Copied,
    Same,
    Deleted,
    /// The source lacks files of it.
    Missing,
    /// The destination has no files of it; only from `Mode::Verify`.
    NotCopied,
}

/// Refuses a source that was written to after its rows were spooled: those writes would be lost. A folder is
/// locked; a database server cannot be, so its rows are compared again. `imported_into` is the new database
/// once it has the rows.
async fn ensure_unwritten(
    from: &Instance,
    spool: &SpooledRows,
    imported_into: Option<String>,
) -> Result<(), Error> {
    if from.store.is_shared() && fingerprint(&from.store).await? != fingerprint_of(spool)? {
        return Err(Error::SourceWritten { imported_into });
    }
    Ok(())
}

/// The content of a database, independent of row order, which differs between backends: for each table the
/// row count and the sum of the row checksums.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Fingerprint([(u64, u128); Table::ALL.len()]);

impl Fingerprint {
    fn rows(&self) -> u64 {
        self.0.iter().map(|(rows, _)| rows).sum()
    }

    fn add(&mut self, row: &ExportRow) -> io::Result<()> {
        let digest = Sha256::digest(serde_json::to_vec(row)?);
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        let (rows, sum) = &mut self.0[row.table() as usize];
        *rows += 1;
        *sum = sum.wrapping_add(u128::from_be_bytes(half));
        Ok(())
    }
}

async fn fingerprint(store: &store::Store) -> Result<Fingerprint, Error> {
    /// Stops the export at the first error.
    struct FingerprintSink(io::Result<Fingerprint>);
    impl Sink for FingerprintSink {
        fn take(&mut self, row: ExportRow) -> std::ops::ControlFlow<()> {
            let Ok(fingerprint) = &mut self.0 else { return std::ops::ControlFlow::Break(()) };
            if let Err(error) = fingerprint.add(&row) {
                self.0 = Err(error);
            }
            std::ops::ControlFlow::Continue(())
        }
    }
    let sink = store.export(FingerprintSink(Ok(Fingerprint::default()))).await?;
    sink.0.map_err(Error::Spool)
}

fn fingerprint_of(spool: &SpooledRows) -> Result<Fingerprint, Error> {
    let mut fingerprint = Fingerprint::default();
    for row in spool.rows() {
        row.and_then(|row| fingerprint.add(&row)).map_err(Error::Spool)?;
    }
    Ok(fingerprint)
}
