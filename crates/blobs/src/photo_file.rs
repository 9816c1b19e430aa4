//! The files of a photo, and their names.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use bytes::Bytes;
use model::PhotoId;

/// A file of a photo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhotoFile {
    /// A square, by its side in pixels.
    Master(u32),
    /// The stripped upload.
    Original,
    /// The whole photo, by its longest side. It is derived from the original: backups and checks leave it
    /// out, and it may be missing.
    Fit(u32),
    /// A part of an upload that is not complete, in a folder of its own. Names are never used twice: a write
    /// that the store completes late must not replace the part of a later request.
    Part { start: u64, epoch: u64 },
}

/// The content of a photo's files, the largest master first and the original last, without derived files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhotoFiles {
    pub intact: Vec<(PhotoFile, Bytes)>,
    /// Files that fail their checksum, or that the disk cannot read.
    pub damaged: Vec<PhotoFile>,
    /// Those of `intact` that have no checksum.
    pub unverified: Vec<PhotoFile>,
}

/// A photo in a listing: its files with their lengths, the largest master first and the original last,
/// without derived files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPhoto {
    pub photo: PhotoId,
    pub files: Vec<(PhotoFile, u64)>,
    /// The time of the last write.
    pub since: SystemTime,
}

impl StoredPhoto {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, length)| length).sum()
    }
}

impl PhotoFile {
    const ORIGINAL: &'static str = "original";

    const FIT: &'static str = "fit";

    const PART: &'static str = "part";

    /// Whether it can be made again from the original at any time.
    pub(crate) fn is_derived(self) -> bool {
        matches!(self, Self::Fit(_))
    }

    fn rank(self) -> (u8, Reverse<u32>, u64, u64) {
        match self {
            Self::Master(side) => (0, Reverse(side), 0, 0),
            Self::Original => (1, Reverse(0), 0, 0),
            Self::Fit(side) => (2, Reverse(side), 0, 0),
            Self::Part { start, epoch } => (3, Reverse(0), start, epoch),
        }
    }
}

impl Ord for PhotoFile {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for PhotoFile {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The file name.
impl fmt::Display for PhotoFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Master(side) => side.fmt(f),
            Self::Original => f.write_str(Self::ORIGINAL),
            Self::Fit(side) => write!(f, "{}{side}", Self::FIT),
            Self::Part { start, epoch } => write!(f, "{}{start}.{epoch}", Self::PART),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a photo's file")]
pub struct UnknownPhotoFile(String);

impl FromStr for PhotoFile {
    type Err = UnknownPhotoFile;

    fn from_str(name: &str) -> Result<Self, UnknownPhotoFile> {
        if name == Self::ORIGINAL {
            return Ok(Self::Original);
        }
        let side = |name: &str| name.parse().ok().filter(|side: &u32| *side > 0 && side.to_string() == name);
        let part = |numbers: &str| {
            let (start, epoch) = numbers.split_once('.')?;
            let part = Self::Part { start: start.parse().ok()?, epoch: epoch.parse().ok()? };
            (part.to_string() == name).then_some(part)
        };
        let file = match (name.strip_prefix(Self::FIT), name.strip_prefix(Self::PART)) {
            (Some(name), _) => side(name).map(Self::Fit),
            (None, Some(numbers)) => part(numbers),
            (None, None) => side(name).map(Self::Master),
        };
        file.ok_or_else(|| UnknownPhotoFile(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_round_trip_and_others_are_rejected() {
        for name in ["2048", "1", "original", "fit2048", "part0.1", "part524288.12"] {
            assert_eq!(name.parse::<PhotoFile>().unwrap().to_string(), name);
        }
        for name in [
            "",
            "0",
            "007",
            "+7",
            "Original",
            "2048.jpg",
            "SHA256SUMS",
            "fit",
            "fit0",
            "fit-1",
            "part",
            "part1",
            "part01.1",
            "part1.+1",
        ] {
            assert!(name.parse::<PhotoFile>().is_err(), "{name:?} must not parse as a photo's file");
        }
    }
}
