//! Restore: imports an archive into an empty instance, or verifies one.
//!
//! Files are written first, each photo under a claim; the rows follow in one transaction, which commits only
//! when the archive has been read to its end and every checksum matched. An interrupted restore leaves claims
//! and no rows: the next restore resumes, and a service that starts instead collects the claimed files.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use blobs::{PhotoFile, PhotoFiles};
use bytes::Bytes;
use futures_util::future::try_join_all;
use model::{Clock, PhotoId};
use store::{BlobState, ExportRow, TableCounts};
use tokio::sync::mpsc;

use crate::archive::{ArchiveError, Item, Manifest, Reader};
use crate::error::Error;
use crate::instance::Instance;
use crate::progress::Progress;

/// Photos that are written concurrently, and the capacity of the channel for photos.
const CONCURRENT_PHOTOS: usize = 8;
/// The capacity of the channel for rows.
const ROW_QUEUE: usize = 1_000;

#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions {
    /// Restore what is not damaged, instead of failing.
    pub skip_damaged: bool,
    /// Restore sessions too. A backup outlives logouts, so by default all users log in again.
    pub keep_sessions: bool,
}

#[derive(Debug)]
pub struct RestoreReport {
    /// `None` if it is damaged.
    pub manifest: Option<Manifest>,
    pub counts: TableCounts,
    /// Photos that an interrupted restore had written.
    pub already_present: u64,
    /// Sessions of the archive that were not restored.
    pub ended_sessions: u64,
    /// What `skip_damaged` found: damage, what was rebuilt, and what was left out.
    pub damage: Vec<ArchiveError>,
    /// Photos that were left out because nothing refers to them any more.
    pub unreferenced_photos: usize,
}

/// What the reader thread reports at the end of an archive.
#[derive(Debug, Default)]
struct ArchiveEnd {
    manifest: Option<Manifest>,
    ended_sessions: u64,
    damage: Vec<ArchiveError>,
}

type Photo = (PhotoId, Vec<(PhotoFile, Bytes)>);
/// `None` marks the end, so that a reader thread that panics does not look like a complete archive.
type RowSender = SyncSender<Result<Option<ExportRow>, store::Error>>;

impl Instance {
    pub async fn restore(
        &self,
        from: impl Read + Send + 'static,
        options: RestoreOptions,
        clock: &Clock,
        progress: Arc<dyn Progress>,
    ) -> Result<RestoreReport, Error> {
        self.ensure_empty().await?;
        let (photos, mut photo_receiver) = mpsc::channel(CONCURRENT_PHOTOS);
        let (rows, row_receiver) = sync_channel(ROW_QUEUE);
        let reader = spawn_reader(from, options, photos, rows)?;

        progress.begin("restoring", 0, 0);
        let (mut batch, mut already_present) = (Vec::with_capacity(CONCURRENT_PHOTOS), 0);
        while photo_receiver.recv_many(&mut batch, CONCURRENT_PHOTOS).await > 0 {
            let ids = batch.iter().map(|(id, _)| *id).collect();
            self.store.claim_photos(ids, clock.now()).await?;
            let written = try_join_all(batch.iter().map(|(id, files)| self.put_verified(*id, files))).await?;
            already_present += written.iter().filter(|is_new| !**is_new).count() as u64;
            let lengths = batch.iter().flat_map(|(_, files)| files).map(|(_, bytes)| bytes.len() as u64);
            progress.advance(batch.len() as u64, lengths.sum());
            batch.clear();
        }
        let counts = self.store.import(BlobState::Claimed, ReceivedRows(row_receiver)).await;
        // If both fail, the archive's error is the cause: the reader thread makes the import fail …
        let end = tokio::task::spawn_blocking(move || reader.join()).await;
        let end = end.map_err(|error| Error::ThreadFailed(error.to_string()))?;
        let end = end.map_err(|_| Error::ThreadFailed("it panicked".to_owned()))?;
        let (end, counts) = match (end, counts) {
            // … unless the database failed first, which closed the channel of the reader thread.
            (Err(_), Err(error)) if !matches!(error, store::Error::ImportRejected(_)) => {
                return Err(error.into());
            }
            (Err(damage), _) => return Err(damage.into()),
            (Ok(_), Err(error)) => return Err(error.into()),
            (Ok(end), Ok(counts)) => (end, counts),
        };
        // The archive may have the sequences of a database in which they lag.
        self.store.fix_sequences().await?;
        let ArchiveEnd { manifest, ended_sessions, damage } = end;
        let mut report = RestoreReport {
            manifest,
            counts,
            already_present,
            ended_sessions,
            damage,
            unreferenced_photos: 0,
        };
        if !report.damage.is_empty() {
            report.unreferenced_photos = self.reconcile(clock).await?;
            report.counts = self.store.table_counts().await?;
        }
        Ok(report)
    }

    /// Corrects what depends on rows that were left out: the counts of likes, and photos without their post.
    async fn reconcile(&self, clock: &Clock) -> Result<usize, Error> {
        self.store.recount_likes().await?;
        Ok(self.store.delete_unreferenced_photos(clock.now()).await?)
    }

    pub(super) async fn ensure_empty(&self) -> Result<TableCounts, Error> {
        let counts = self.store.table_counts().await?;
        if counts.is_empty() {
            Ok(counts)
        } else {
            Err(Error::NotEmpty { location: self.location.database.to_string(), counts: Box::new(counts) })
        }
    }

    /// Writes the files of a photo and reads them back; `false` when identical files existed before.
    pub(super) async fn put_verified(
        &self,
        id: PhotoId,
        files: &[(PhotoFile, Bytes)],
    ) -> Result<bool, Error> {
        let existing = self.blobs.files(id).await?;
        if existing.intact == files {
            return Ok(false);
        }
        // Written in part by an interrupted attempt.
        if existing != PhotoFiles::default() {
            self.blobs.delete(id).await?;
        }
        self.blobs.put(id, files.to_vec()).await?;
        if self.blobs.files(id).await?.intact != files {
            return Err(Error::ReadBackMismatch { location: self.location.blobs.to_string(), photo: id });
        }
        Ok(true)
    }
}

/// Reads an archive to its end and verifies every byte. Returns all damage, up to a limit.
pub fn verify(from: impl Read, progress: &dyn Progress) -> Result<Manifest, Vec<ArchiveError>> {
    const MAX_REPORTED: usize = 20;
    let mut reader = Reader::new(from);
    let (mut damage, mut end) = (Vec::new(), None);
    progress.begin("verifying", 0, 0);
    loop {
        match reader.next() {
            Ok(Some(Item::Photo(_, files))) => {
                progress.advance(1, files.iter().map(|(_, bytes)| bytes.len() as u64).sum());
            }
            Ok(Some(Item::Rows(_))) => {}
            Ok(Some(Item::End(manifest))) => end = Some(manifest),
            Ok(None) => break,
            Err(error) if error.is_damage() && damage.len() < MAX_REPORTED => damage.push(error),
            Err(error) => {
                // After damage, any other error is a consequence of it.
                if damage.is_empty() {
                    damage.push(error);
                }
                break;
            }
        }
    }
    match end {
        Some(manifest) if damage.is_empty() => Ok(manifest),
        _ => Err(damage),
    }
}

/// Starts the reader thread, which sends photos, then rows. Damage is sent as an error in place of the end,
/// so that the import rolls back.
fn spawn_reader(
    from: impl Read + Send + 'static,
    options: RestoreOptions,
    photos: mpsc::Sender<Photo>,
    rows: RowSender,
) -> Result<JoinHandle<Result<ArchiveEnd, ArchiveError>>, Error> {
    let read = move || {
        let outcome = read_all(from, options, photos, &rows);
        let last = match &outcome {
            Ok(_) => Ok(None),
            Err(error) => Err(store::Error::ImportRejected(error.to_string())),
        };
        // The receiver is dropped when writing the photos has failed.
        drop(rows.send(last));
        outcome
    };
    let thread = std::thread::Builder::new().name("archive".into()).spawn(read);
    thread.map_err(|error| Error::ThreadFailed(error.to_string()))
}

fn read_all(
    from: impl Read,
    options: RestoreOptions,
    photos: mpsc::Sender<Photo>,
    rows: &RowSender,
) -> Result<ArchiveEnd, ArchiveError> {
    let aborted = || ArchiveError::Read(std::io::Error::other("the restore was aborted"));
    let mut reader = if options.skip_damaged { Reader::salvaging(from)? } else { Reader::new(from) };
    let mut photos = Some(photos);
    let (mut end, mut has_users) = (ArchiveEnd::default(), false);
    loop {
        match reader.next() {
            Ok(Some(Item::Photo(id, files))) => {
                let is_sent = photos.as_ref().is_some_and(|photos| photos.blocking_send((id, files)).is_ok());
                if !is_sent {
                    return Err(aborted());
                }
            }
            Ok(Some(Item::Rows(batch))) => {
                photos = None;
                for row in batch {
                    if matches!(row, ExportRow::Session(_)) && !options.keep_sessions {
                        end.ended_sessions += 1;
                        continue;
                    }
                    has_users |= matches!(row, ExportRow::User(_));
                    rows.send(Ok(Some(row))).map_err(|_| aborted())?;
                }
            }
            Ok(Some(Item::End(manifest))) => end.manifest = Some(manifest),
            Ok(None) => break,
            Err(damage) if options.skip_damaged && damage.is_damage() => end.damage.push(damage),
            Err(error) => return Err(error),
        }
    }
    match end.damage.first() {
        Some(first) if !has_users => Err(ArchiveError::NothingLeft { first: first.to_string() }),
        _ => Ok(end),
    }
}

/// The rows from the reader thread, as the iterator that an import takes.
struct ReceivedRows(Receiver<Result<Option<ExportRow>, store::Error>>);

impl Iterator for ReceivedRows {
    type Item = Result<ExportRow, store::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.recv() {
            Ok(row) => row.transpose(),
            Err(_) => {
                Some(Err(store::Error::ImportRejected("the archive was not read to its end".to_owned())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_an_end_marker_are_an_error() {
        let (rows, receiver) = sync_channel(4);
        drop(rows);
        assert!(matches!(ReceivedRows(receiver).next(), Some(Err(_))));
        let (rows, receiver) = sync_channel(4);
        rows.send(Ok(None)).unwrap();
        assert!(ReceivedRows(receiver).next().is_none());
    }
}
