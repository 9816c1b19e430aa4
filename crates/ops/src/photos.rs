//! Photos according to their rows, and their files in the blob store.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use blobs::PhotoFiles;
use model::PhotoId;
use store::{ExportRow, PhotoRow, Sink};

use crate::error::Error;
use crate::expected_files::ExpectedFiles;
use crate::instance::Instance;

/// All photos by their shard of the blob store. A photo takes about 50 bytes of memory.
#[derive(Debug)]
pub(crate) struct PhotosByShard(Vec<HashMap<PhotoId, ExpectedFiles>>);

impl Default for PhotosByShard {
    fn default() -> Self {
        Self(vec![HashMap::new(); 256])
    }
}

impl PhotosByShard {
    pub(super) fn of(photos: impl Iterator<Item = io::Result<PhotoRow>>) -> io::Result<Self> {
        let mut shards = Self::default();
        for photo in photos {
            shards.add(&photo?);
        }
        Ok(shards)
    }

    /// Each shard with its number, which is the last byte of its photo ids.
    pub(crate) fn each(self) -> impl Iterator<Item = (u8, HashMap<PhotoId, ExpectedFiles>)> {
        (0..=u8::MAX).zip(self.0)
    }

    fn add(&mut self, photo: &PhotoRow) {
        let shard = usize::from(photo.id.as_bytes()[15]);
        self.0[shard].insert(photo.id, photo.into());
    }
}

/// Stops the export after the photos table, which is exported first.
impl Sink for PhotosByShard {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        let ExportRow::Photo(photo) = row else { return ControlFlow::Break(()) };
        self.add(&photo);
        ControlFlow::Continue(())
    }
}

/// The result of reading the files of a photo of the snapshot.
pub(super) enum PhotoLookup {
    Complete(PhotoFiles),
    /// The row was deleted after the snapshot.
    Deleted,
    /// The row exists, but files are damaged, missing or incomplete.
    Incomplete(PhotoFiles),
}

impl Instance {
    pub(super) async fn read_photo(
        &self,
        id: PhotoId,
        expected: ExpectedFiles,
    ) -> Result<PhotoLookup, Error> {
        let files = self.blobs.files(id).await?;
        let lengths = files.intact.iter().map(|(file, bytes)| (*file, bytes.len() as u64));
        if expected.matches(lengths) {
            return Ok(PhotoLookup::Complete(files));
        }
        // A delete removes the row first, then the files.
        let is_deleted = self.store.photo(id).await?.is_none();
        Ok(if is_deleted { PhotoLookup::Deleted } else { PhotoLookup::Incomplete(files) })
    }
}
