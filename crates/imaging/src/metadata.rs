//! The kinds of metadata that stripping removes, and how they are recognized.

pub(crate) mod exif;
pub(crate) mod photoshop;
pub(crate) mod xmp;

use std::fmt;

/// A kind of metadata, in the order of the list: the most privacy-sensitive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metadata {
    Gps,
    Exif,
    Xmp,
    Iptc,
    Comment,
    Thumbnail,
    MakerNotes,
    /// What an ICC profile says of its user, its device and itself.
    IccTexts,
    Other,
}

impl Metadata {
    const ALL: [Self; 9] = [
        Self::Gps,
        Self::Exif,
        Self::Xmp,
        Self::Iptc,
        Self::Comment,
        Self::Thumbnail,
        Self::MakerNotes,
        Self::IccTexts,
        Self::Other,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Gps => "gps",
            Self::Exif => "exif",
            Self::Xmp => "xmp",
            Self::Iptc => "iptc",
            Self::Comment => "comment",
            Self::Thumbnail => "thumbnail",
            Self::MakerNotes => "maker-notes",
            Self::IccTexts => "icc-texts",
            Self::Other => "other",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// The set of metadata kinds removed from a file. Displays as an HTTP header value: `gps, exif`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RemovedMetadata(u16);

impl RemovedMetadata {
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn has(self, kind: Metadata) -> bool {
        self.0 & kind.bit() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Metadata> {
        Metadata::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    pub(crate) fn add(&mut self, kind: Metadata) {
        self.0 |= kind.bit();
    }
}

/// Whether any byte is non-zero, so the bytes are more than padding.
pub(crate) fn has_data(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte != 0)
}

impl fmt::Display for RemovedMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, kind) in self.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            f.write_str(kind.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_metadata_is_listed_in_a_fixed_order() {
        let mut removed = RemovedMetadata::default();
        assert!(removed.is_empty());
        assert_eq!(removed.to_string(), "");
        for kind in [Metadata::MakerNotes, Metadata::Gps, Metadata::Exif, Metadata::Gps] {
            removed.add(kind);
        }
        assert_eq!(removed.to_string(), "gps, exif, maker-notes");
        assert!(removed.has(Metadata::Exif) && !removed.has(Metadata::Xmp) && !removed.is_empty());
    }
}
