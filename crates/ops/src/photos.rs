//! The photos an instance knows of, and the files each should have.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use blobs::{Kept, Part};
use bytes::Bytes;
use model::{PhotoId, master_sides};
use store::{Fact, PhotoFact, Sink};

use crate::error::MoveError;
use crate::instance::Instance;

/// What a photo's row says about its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    short_side: u32,
    has_original: bool,
    pub(crate) bytes: u64,
}

impl Expected {
    fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let squares = master_sides(self.short_side).map(Part::Square);
        squares.chain(self.has_original.then_some(Part::Original))
    }

    /// Whether these are the files, as far as names and lengths tell.
    pub(crate) fn are_these(&self, parts: impl Iterator<Item = (Part, u64)>) -> bool {
        let (found, lengths): (Vec<Part>, Vec<u64>) = parts.unzip();
        lengths.iter().sum::<u64>() == self.bytes && self.parts().eq(found)
    }

    pub(crate) fn is_whole(&self, kept: &Kept) -> bool {
        self.are_these(kept.parts.iter().copied())
    }
}

impl From<&PhotoFact> for Expected {
    fn from(photo: &PhotoFact) -> Self {
        let short_side = photo.width.min(photo.height);
        Self { short_side, has_original: photo.original.is_some(), bytes: photo.bytes }
    }
}

/// Every photo there is, by the shelf of the blob store on which it lies: some fifty bytes of memory for each.
#[derive(Debug)]
pub(crate) struct Shelves(Vec<HashMap<PhotoId, Expected>>);

impl Default for Shelves {
    fn default() -> Self {
        Self(vec![HashMap::new(); 256])
    }
}

impl Shelves {
    pub(super) fn of(photos: impl Iterator<Item = io::Result<PhotoFact>>) -> io::Result<Self> {
        let mut shelves = Self::default();
        for photo in photos {
            shelves.add(&photo?);
        }
        Ok(shelves)
    }

    /// With the byte that the ids on it end with.
    pub(crate) fn each(self) -> impl Iterator<Item = (u8, HashMap<PhotoId, Expected>)> {
        (0..=u8::MAX).zip(self.0)
    }

    fn add(&mut self, photo: &PhotoFact) {
        let shelf = usize::from(photo.id.as_bytes()[15]);
        self.0[shelf].insert(photo.id, photo.into());
    }
}

/// Photos are the first facts to come, and all that is wanted here.
impl Sink for Shelves {
    fn take(&mut self, fact: Fact) -> ControlFlow<()> {
        let Fact::Photo(photo) = fact else { return ControlFlow::Break(()) };
        self.add(&photo);
        ControlFlow::Continue(())
    }
}

/// What became of a photo that some row spoke of.
pub(super) enum Found {
    Whole(Vec<(Part, Bytes)>),
    /// Its row has gone since.
    Deleted,
    /// Its row is there, and its files are not, or not as they should be.
    Missing,
}

impl Instance {
    pub(super) async fn bytes_of(&self, id: PhotoId, expected: Expected) -> Result<Found, MoveError> {
        let files = self.blobs.files(id).await?;
        if expected.are_these(files.iter().map(|(part, bytes)| (*part, bytes.len() as u64))) {
            return Ok(Found::Whole(files));
        }
        // A delete takes the row first, then the bytes.
        Ok(if self.store.photo(id).await?.is_none() { Found::Deleted } else { Found::Missing })
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_photo_is_whole_with_every_square_and_its_original_and_not_a_byte_less() {
        let expected = Expected { short_side: 700, has_original: true, bytes: 100 };
        let kept = |parts: &[(&str, u64)]| Kept {
            photo: "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b".parse().unwrap(),
            parts: parts.iter().map(|(name, length)| (name.parse().unwrap(), *length)).collect(),
            since: SystemTime::UNIX_EPOCH,
        };
        let whole = [("700", 40), ("512", 20), ("256", 10), ("original", 30)];
        assert!(expected.is_whole(&kept(&whole)));
        assert!(!Expected { has_original: false, ..expected }.is_whole(&kept(&whole)));
        assert!(!Expected { bytes: 99, ..expected }.is_whole(&kept(&whole)));
        assert!(!expected.is_whole(&kept(&whole[1..])));
        assert!(!expected.is_whole(&kept(&[])));
    }
}
