//! The files that a photo must have in the blob store.

use blobs::{PhotoFile, StoredPhoto};
use model::{Size, master_sides};
use store::PhotoRow;

/// The files that a photo must have according to its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectedFiles {
    short_side: u32,
    has_original: bool,
    pub(crate) bytes: u64,
}

impl ExpectedFiles {
    fn files(&self) -> impl Iterator<Item = PhotoFile> + use<> {
        let masters = master_sides(self.short_side).map(PhotoFile::Master);
        masters.chain(self.has_original.then_some(PhotoFile::Original))
    }

    /// Compares names, and the total of the lengths.
    pub(crate) fn matches(&self, files: impl Iterator<Item = (PhotoFile, u64)>) -> bool {
        let (files, lengths): (Vec<PhotoFile>, Vec<u64>) = files.unzip();
        lengths.iter().sum::<u64>() == self.bytes && self.files().eq(files)
    }

    pub(crate) fn is_complete(&self, stored: &StoredPhoto) -> bool {
        self.matches(stored.files.iter().copied())
    }

    /// The row of a photo that has these files: with their size, and without an original that is lost.
    /// `None` if
    /// they are not the files of this photo.
    pub(crate) fn correct(&self, row: &PhotoRow) -> Option<PhotoRow> {
        let is_same = self.short_side == Self::from(row).short_side;
        (is_same && (row.original.is_some() || !self.has_original)).then(|| PhotoRow {
            bytes: self.bytes,
            original: row.original.clone().filter(|_| self.has_original),
            orientation: row.orientation.filter(|_| self.has_original),
            ..row.clone()
        })
    }

    /// The files that an archive has for a photo; `None` if no row can expect them.
    pub(crate) fn of_files(files: impl Iterator<Item = (PhotoFile, u64)> + Clone) -> Option<Self> {
        let short_side = files.clone().find_map(|(file, _)| match file {
            PhotoFile::Master(side) => Some(side),
            PhotoFile::Original | PhotoFile::Fit(_) | PhotoFile::Part { .. } => None,
        })?;
        let has_original = files.clone().any(|(file, _)| file == PhotoFile::Original);
        let bytes = files.clone().map(|(_, length)| length).sum();
        let expected = Self { short_side, has_original, bytes };
        expected.matches(files).then_some(expected)
    }
}

impl From<&PhotoRow> for ExpectedFiles {
    fn from(photo: &PhotoRow) -> Self {
        // No master is larger, so photos that differ beyond it have the same files.
        let short_side = photo.width.min(photo.height).min(Size::MAX.into());
        Self { short_side, has_original: photo.original.is_some(), bytes: photo.bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_photo_is_complete_with_every_master_its_original_and_the_exact_length() {
        let expected = ExpectedFiles { short_side: 700, has_original: true, bytes: 100 };
        let stored = |files: &[(&str, u64)]| StoredPhoto {
            photo: "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b".parse().unwrap(),
            files: files.iter().map(|(name, length)| (name.parse().unwrap(), *length)).collect(),
            since: SystemTime::UNIX_EPOCH,
        };
        let complete = [("700", 40), ("512", 20), ("256", 10), ("original", 30)];
        assert!(expected.is_complete(&stored(&complete)));
        assert!(!ExpectedFiles { has_original: false, ..expected }.is_complete(&stored(&complete)));
        assert!(!ExpectedFiles { bytes: 99, ..expected }.is_complete(&stored(&complete)));
        assert!(!expected.is_complete(&stored(&complete[1..])));
        assert!(!expected.is_complete(&stored(&[])));

        let of_files = |files: &[(&str, u64)]| ExpectedFiles::of_files(stored(files).files.into_iter());
        assert_eq!(of_files(&complete), Some(expected));
        for files in [&complete[1..], &complete[..2], &complete[3..], &[]] {
            assert_ne!(of_files(files), Some(expected), "{files:?}");
        }
        assert_eq!(of_files(&[("700", 40), ("512", 20)]), None, "a master is missing");
        assert_eq!(of_files(&[("4096", 40)]), None, "no photo has such a master");
    }
}
