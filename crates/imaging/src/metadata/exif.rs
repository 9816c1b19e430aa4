//! EXIF: how to turn the picture, and what a block tells, for the list of what was removed. Nothing here can
//! fail, since a block is dropped whether it makes sense or not.

use super::{Metadata, Removed};
use crate::orient::Orientation;

const ORIENTATION: u16 = 0x0112;
const EXIF_IFD: u16 = 0x8769;
const GPS_IFD: u16 = 0x8825;
const MAKER_NOTE: u16 = 0x927C;
const STRIP_OFFSETS: u16 = 0x0111;
const JPEG_THUMBNAIL: u16 = 0x0201;
const MP_ENTRIES: u16 = 0xB002;

/// The orientation in an EXIF block; upright where there is none or it is broken, as viewers do.
pub(crate) fn orientation(block: &[u8]) -> Orientation {
    const SHORT: u16 = 3;
    let is_orientation = |entry: &Entry| (entry.tag, entry.kind, entry.count) == (ORIENTATION, SHORT, 1);
    Tiff::open(block)
        .and_then(|tiff| tiff.entries(tiff.first()).find(is_orientation))
        .and_then(|entry| Orientation::from_exif(entry.short))
        .unwrap_or(Orientation::NoTransforms)
}

/// Notes what an EXIF block holds, whether it begins with its name or with the TIFF header.
pub(crate) fn note(block: &[u8], removed: &mut Removed) {
    removed.add(Metadata::Exif);
    let Some(tiff) = Tiff::open(block.strip_prefix(b"Exif\0\0").unwrap_or(block)) else {
        return;
    };
    let first = tiff.first();
    let directory_of = |tag| tiff.entries(first).find(|entry| entry.tag == tag).map(|entry| entry.value);
    let has = |directory, tags: &[u16]| tiff.entries(directory).any(|entry| tags.contains(&entry.tag));

    if directory_of(GPS_IFD).is_some_and(|gps| tiff.entries(gps).next().is_some()) {
        removed.add(Metadata::Gps);
    }
    if directory_of(EXIF_IFD).is_some_and(|exif| has(exif, &[MAKER_NOTE])) {
        removed.add(Metadata::MakerNotes);
    }
    if tiff.next(first).is_some_and(|second| has(second, &[JPEG_THUMBNAIL, STRIP_OFFSETS])) {
        removed.add(Metadata::Thumbnail);
    }
}

/// Whether a multi-picture index names more than the picture it stands in.
pub(crate) fn names_previews(index: &[u8]) -> bool {
    const ENTRY: u32 = 16;
    Tiff::open(index).is_some_and(|tiff| {
        tiff.entries(tiff.first()).any(|entry| entry.tag == MP_ENTRIES && entry.count > ENTRY)
    })
}

struct Entry {
    tag: u16,
    kind: u16,
    count: u32,
    value: u32,
    /// The value, if it is a number of 16 bits.
    short: u16,
}

struct Tiff<'block> {
    bytes: &'block [u8],
    little: bool,
}

impl<'block> Tiff<'block> {
    fn open(bytes: &'block [u8]) -> Option<Self> {
        match bytes {
            [b'I', b'I', 42, 0, ..] => Some(Self { bytes, little: true }),
            [b'M', b'M', 0, 42, ..] => Some(Self { bytes, little: false }),
            _ => None,
        }
    }

    /// Where the first directory is. A block too short to say so has none there either.
    fn first(&self) -> u32 {
        self.bytes.get(4..).and_then(<[u8]>::first_chunk).map_or(0, |at| self.u32(*at))
    }

    /// The entries of a directory, as many as are there. No directory is followed from here, so a block
    /// whose directories point at each other costs no more than any other.
    fn entries(&self, directory: u32) -> impl Iterator<Item = Entry> {
        let (count, rest) = self.directory(directory).unwrap_or_default();
        let (entries, _) = rest.as_chunks::<12>();
        entries.iter().take(count).map(|&[t0, t1, k0, k1, c0, c1, c2, c3, v0, v1, v2, v3]| Entry {
            tag: self.u16([t0, t1]),
            kind: self.u16([k0, k1]),
            count: self.u32([c0, c1, c2, c3]),
            value: self.u32([v0, v1, v2, v3]),
            short: self.u16([v0, v1]),
        })
    }

    /// Where the directory after this one is.
    fn next(&self, directory: u32) -> Option<u32> {
        let (count, rest) = self.directory(directory)?;
        let next = self.u32(*rest.get(12 * count..)?.first_chunk()?);
        (next != 0).then_some(next)
    }

    /// How many entries a directory has, and what follows that number.
    fn directory(&self, at: u32) -> Option<(usize, &'block [u8])> {
        let (count, rest) = self.bytes.get(at as usize..)?.split_first_chunk()?;
        Some((self.u16(*count).into(), rest))
    }

    fn u16(&self, bytes: [u8; 2]) -> u16 {
        if self.little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }
}
