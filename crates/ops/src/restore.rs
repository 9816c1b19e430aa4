//! Restores an archive into an empty instance, or verifies one.
//!
//! Files go in first, each photo under a claim; the rows follow in one transaction, which is committed only
//! when the archive has been read to its end and every checksum matched. An attempt that dies leaves claims
//! and no rows: the next one continues, and a service that starts instead removes them.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use blobs::{Part, Square};
use bytes::Bytes;
use futures_util::future::try_join_all;
use model::{Clock, PhotoId};
use store::{BlobState, ExportRow, TableCounts};
use tokio::sync::mpsc;

use crate::archive::{ArchiveError, Content, Contents, Manifest};
use crate::error::Error;
use crate::instance::Instance;
use crate::progress::Progress;

/// Photos that are written concurrently, and rows that are queued for the import.
const AT_ONCE: usize = 8;
const ROW_QUEUE: usize = 1_000;

#[derive(Debug)]
pub struct RestoreReport {
    pub manifest: Manifest,
    pub counts: TableCounts,
    /// Photos that an interrupted attempt had restored.
    pub already_present: u64,
}

type Photo = (PhotoId, Vec<(Part, Bytes)>);
/// Ends with `None`, so that a thread that dies is not taken for one that is done.
type RowSender = SyncSender<Result<Option<ExportRow>, store::Error>>;

impl Instance {
    pub async fn restore(
        &self,
        from: impl Read + Send + 'static,
        clock: &Clock,
        progress: Arc<dyn Progress>,
    ) -> Result<RestoreReport, Error> {
        self.ensure_empty().await?;
        let (photos, mut arriving) = mpsc::channel(AT_ONCE);
        let (rows, received_rows) = sync_channel(ROW_QUEUE);
        let reader = spawn_reader(from, photos, rows)?;

        progress.begin("restoring", 0, 0);
        let (mut batch, mut already_present) = (Vec::with_capacity(AT_ONCE), 0);
        while arriving.recv_many(&mut batch, AT_ONCE).await > 0 {
            let ids = batch.iter().map(|(id, _)| *id).collect();
            self.store.claim_photos(ids, clock.now()).await?;
            let new = try_join_all(batch.iter().map(|(id, files)| self.put_verified(*id, files))).await?;
            already_present += new.iter().filter(|is_new| !**is_new).count() as u64;
            let lengths = batch.iter().flat_map(|(_, files)| files).map(|(_, bytes)| bytes.len() as u64);
            progress.advance(batch.len() as u64, lengths.sum());
            batch.clear();
        }
        let counts = self.store.import(BlobState::Claimed, ReceivedRows(received_rows)).await;
        // If both fail, the archive's error is the cause …
        let manifest = tokio::task::spawn_blocking(move || reader.join()).await;
        let manifest = manifest.map_err(|error| Error::Stopped(error.to_string()))?;
        let manifest = manifest.map_err(|_| Error::Stopped("it panicked".to_owned()))?;
        match (manifest, counts) {
            // … unless the database failed by itself, which ended the reader.
            (Err(_), Err(error)) if !matches!(error, store::Error::Refused(_)) => Err(error.into()),
            (Err(damage), _) => Err(damage.into()),
            (Ok(_), Err(error)) => Err(error.into()),
            (Ok(manifest), Ok(counts)) => Ok(RestoreReport { manifest, counts, already_present }),
        }
    }

    pub(super) async fn ensure_empty(&self) -> Result<TableCounts, Error> {
        let counts = self.store.table_counts().await?;
        if counts.is_empty() {
            Ok(counts)
        } else {
            Err(Error::NotEmpty { location: self.location.database.to_string(), counts })
        }
    }

    /// Writes the files of a photo and reads them back; `false` when the same files were there before.
    pub(super) async fn put_verified(&self, id: PhotoId, files: &[(Part, Bytes)]) -> Result<bool, Error> {
        let there = self.blobs.files(id).await?;
        if there == files {
            return Ok(false);
        }
        // Left by an interrupted attempt.
        if !there.is_empty() {
            self.blobs.delete(id).await?;
        }
        let (mut squares, mut original) = (Vec::new(), None);
        for (part, bytes) in files {
            match part {
                Part::Square(side) => squares.push(Square { side: *side, bytes: bytes.clone() }),
                Part::Original => original = Some(bytes.clone()),
            }
        }
        self.blobs.put(id, squares, original).await?;
        if self.blobs.files(id).await? != files {
            return Err(Error::ReadBackMismatch { location: self.location.blobs.to_string(), photo: id });
        }
        Ok(true)
    }
}

/// Reads an archive to its end and checks every byte of it. Returns all damage that can be told apart.
pub fn verify(from: impl Read, progress: &dyn Progress) -> Result<Manifest, Vec<ArchiveError>> {
    const MAX_REPORTED: usize = 20;
    let mut contents = Contents::new(from);
    let (mut damage, mut end) = (Vec::new(), None);
    progress.begin("verifying", 0, 0);
    loop {
        match contents.next() {
            Ok(Some(Content::Photo(_, files))) => {
                progress.advance(1, files.iter().map(|(_, bytes)| bytes.len() as u64).sum());
            }
            Ok(Some(Content::Rows(_))) => {}
            Ok(Some(Content::End(manifest))) => end = Some(manifest),
            Ok(None) => break,
            Err(error @ ArchiveError::Damaged { .. }) if damage.len() < MAX_REPORTED => damage.push(error),
            Err(error) => {
                // After damage, further errors are its consequence.
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

/// Reads on a thread of its own: photos first, then rows. The import receives damage as an error before the
/// end, so it rolls back.
fn spawn_reader(
    from: impl Read + Send + 'static,
    photos: mpsc::Sender<Photo>,
    rows: RowSender,
) -> Result<JoinHandle<Result<Manifest, ArchiveError>>, Error> {
    let read = move || {
        let read = read_all(from, photos, &rows);
        let last = match &read {
            Ok(_) => Ok(None),
            Err(error) => Err(store::Error::Refused(error.to_string())),
        };
        // The receiver is gone when writing the photos has failed.
        drop(rows.send(last));
        read
    };
    let thread = std::thread::Builder::new().name("archive".into()).spawn(read);
    thread.map_err(|error| Error::Stopped(error.to_string()))
}

fn read_all(
    from: impl Read,
    photos: mpsc::Sender<Photo>,
    rows: &RowSender,
) -> Result<Manifest, ArchiveError> {
    let gone = || ArchiveError::Read(std::io::Error::other("the restore has ended"));
    let mut contents = Contents::new(from);
    let mut photos = Some(photos);
    let mut end = None;
    while let Some(content) = contents.next()? {
        match content {
            Content::Photo(id, files) => {
                let taken = photos.as_ref().is_some_and(|photos| photos.blocking_send((id, files)).is_ok());
                if !taken {
                    return Err(gone());
                }
            }
            Content::Rows(some) => {
                photos = None;
                for row in some {
                    rows.send(Ok(Some(row))).map_err(|_| gone())?;
                }
            }
            Content::End(manifest) => end = Some(manifest),
        }
    }
    end.ok_or(ArchiveError::CutOff { last: "the last entry".to_owned() })
}

/// The rows that the reader thread sends.
struct ReceivedRows(Receiver<Result<Option<ExportRow>, store::Error>>);

impl Iterator for ReceivedRows {
    type Item = Result<ExportRow, store::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.recv() {
            Ok(row) => row.transpose(),
            Err(_) => Some(Err(store::Error::Refused("the archive was not read to its end".to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_an_end_are_an_error() {
        let (rows, arriving) = sync_channel(4);
        drop(rows);
        assert!(matches!(ReceivedRows(arriving).next(), Some(Err(_))));
        let (rows, arriving) = sync_channel(4);
        rows.send(Ok(None)).unwrap();
        assert!(ReceivedRows(arriving).next().is_none());
    }
}
