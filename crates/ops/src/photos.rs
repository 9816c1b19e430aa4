//! The photos that rows refer to, and the files each should have.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use blobs::{Kept, Part};
use bytes::Bytes;
use model::{PhotoId, master_sides};
use store::{ExportRow, PhotoRow, Sink};

use crate::error::Error;
use crate::instance::Instance;

/// The files of a photo according to its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectedFiles {
    short_side: u32,
    has_original: bool,
    pub(crate) bytes: u64,
}

impl ExpectedFiles {
    fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let squares = master_sides(self.short_side).map(Part::Square);
        squares.chain(self.has_original.then_some(Part::Original))
    }

    /// Whether these are the files, by their names and lengths.
    pub(crate) fn matches(&self, parts: impl Iterator<Item = (Part, u64)>) -> bool {
        let (found, lengths): (Vec<Part>, Vec<u64>) = parts.unzip();
        lengths.iter().sum::<u64>() == self.bytes && self.parts().eq(found)
    }

    pub(crate) fn is_complete(&self, kept: &Kept) -> bool {
        self.matches(kept.parts.iter().copied())
    }
}

impl From<&PhotoRow> for ExpectedFiles {
    fn from(photo: &PhotoRow) -> Self {
        let short_side = photo.width.min(photo.height);
        Self { short_side, has_original: photo.original.is_some(), bytes: photo.bytes }
    }
}

/// Every photo by the shard of the blob store that holds it: about fifty bytes of memory each.
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

    /// Each shard with the last byte of its ids.
    pub(crate) fn each(self) -> impl Iterator<Item = (u8, HashMap<PhotoId, ExpectedFiles>)> {
        (0..=u8::MAX).zip(self.0)
    }

    fn add(&mut self, photo: &PhotoRow) {
        let shard = usize::from(photo.id.as_bytes()[15]);
        self.0[shard].insert(photo.id, photo.into());
    }
}

/// Photos are exported before all other tables.
impl Sink for PhotosByShard {
    fn take(&mut self, row: ExportRow) -> ControlFlow<()> {
        let ExportRow::Photo(photo) = row else { return ControlFlow::Break(()) };
        self.add(&photo);
        ControlFlow::Continue(())
    }
}

/// What the blob store holds for a photo of the snapshot.
pub(super) enum PhotoFiles {
    Complete(Vec<(Part, Bytes)>),
    /// Its row was deleted after the snapshot.
    Deleted,
    /// Its row exists, but its files are missing or incomplete.
    Missing,
}

impl Instance {
    pub(super) async fn read_photo(&self, id: PhotoId, expected: ExpectedFiles) -> Result<PhotoFiles, Error> {
        let files = self.blobs.files(id).await?;
        if expected.matches(files.iter().map(|(part, bytes)| (*part, bytes.len() as u64))) {
            return Ok(PhotoFiles::Complete(files));
        }
        // A delete removes the row first, then the files.
        Ok(if self.store.photo(id).await?.is_none() { PhotoFiles::Deleted } else { PhotoFiles::Missing })
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_photo_is_complete_with_every_square_its_original_and_the_exact_length() {
        let expected = ExpectedFiles { short_side: 700, has_original: true, bytes: 100 };
        let kept = |parts: &[(&str, u64)]| Kept {
            photo: "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b".parse().unwrap(),
            parts: parts.iter().map(|(name, length)| (name.parse().unwrap(), *length)).collect(),
            since: SystemTime::UNIX_EPOCH,
        };
        let complete = [("700", 40), ("512", 20), ("256", 10), ("original", 30)];
        assert!(expected.is_complete(&kept(&complete)));
        assert!(!ExpectedFiles { has_original: false, ..expected }.is_complete(&kept(&complete)));
        assert!(!ExpectedFiles { bytes: 99, ..expected }.is_complete(&kept(&complete)));
        assert!(!expected.is_complete(&kept(&complete[1..])));
        assert!(!expected.is_complete(&kept(&[])));
    }
}
