//! EXIF: reads the orientation and records which kinds of metadata a block contains. Errors are ignored,
//! because the block is removed in any case.

use super::{Metadata, RemovedMetadata};
use crate::orient::Orientation;

const ORIENTATION: u16 = 0x0112;
const EXIF_IFD: u16 = 0x8769;
const GPS_IFD: u16 = 0x8825;
const MAKER_NOTE: u16 = 0x927C;
const STRIP_OFFSETS: u16 = 0x0111;
const JPEG_THUMBNAIL: u16 = 0x0201;
const MP_ENTRIES: u16 = 0xB002;

/// The orientation of an EXIF block. Missing or invalid values mean no transform, as in viewers.
pub(crate) fn orientation(block: &[u8]) -> Orientation {
    const SHORT: u16 = 3;
    let is_orientation = |entry: &Entry| (entry.tag, entry.kind, entry.count) == (ORIENTATION, SHORT, 1);
    Tiff::open(block)
        .and_then(|tiff| tiff.entries(tiff.first_ifd()).find(is_orientation))
        .and_then(|entry| Orientation::from_exif(entry.short))
        .unwrap_or(Orientation::NoTransforms)
}

/// An EXIF block with an orientation and nothing else: a TIFF header and one IFD with one entry.
pub(crate) fn orientation_block(orientation: u8) -> [u8; 26] {
    let [tag0, tag1] = ORIENTATION.to_le_bytes();
    #[rustfmt::skip]
    let block = [
        b'I', b'I', 42, 0, 8, 0, 0, 0,
        1, 0, tag0, tag1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0,
        0, 0, 0, 0,
    ];
    block
}

/// Records the kinds of metadata in an EXIF block, with or without the `Exif` prefix before the TIFF header.
pub(crate) fn record(block: &[u8], removed: &mut RemovedMetadata) {
    removed.add(Metadata::Exif);
    let Some(tiff) = Tiff::open(block.strip_prefix(b"Exif\0\0").unwrap_or(block)) else {
        return;
    };
    let ifd0 = tiff.first_ifd();
    let sub_ifd = |tag| tiff.entries(ifd0).find(|entry| entry.tag == tag).map(|entry| entry.value);
    let has_tag = |ifd, tags: &[u16]| tiff.entries(ifd).any(|entry| tags.contains(&entry.tag));

    if sub_ifd(GPS_IFD).is_some_and(|gps| tiff.entries(gps).next().is_some()) {
        removed.add(Metadata::Gps);
    }
    if sub_ifd(EXIF_IFD).is_some_and(|exif| has_tag(exif, &[MAKER_NOTE])) {
        removed.add(Metadata::MakerNotes);
    }
    if tiff.next_ifd(ifd0).is_some_and(|ifd1| has_tag(ifd1, &[JPEG_THUMBNAIL, STRIP_OFFSETS])) {
        removed.add(Metadata::Thumbnail);
    }
}

/// Whether a Multi-DecodedImage Format index lists more images than the one it is embedded in.
pub(crate) fn lists_other_images(index: &[u8]) -> bool {
    const MP_ENTRY_BYTES: u32 = 16;
    Tiff::open(index).is_some_and(|tiff| {
        tiff.entries(tiff.first_ifd()).any(|entry| entry.tag == MP_ENTRIES && entry.count > MP_ENTRY_BYTES)
    })
}

struct Entry {
    tag: u16,
    kind: u16,
    count: u32,
    value: u32,
    /// The value of an entry of type SHORT.
    short: u16,
}

struct Tiff<'block> {
    bytes: &'block [u8],
    is_little_endian: bool,
}

impl<'block> Tiff<'block> {
    fn open(bytes: &'block [u8]) -> Option<Self> {
        match bytes {
            [b'I', b'I', 42, 0, ..] => Some(Self { bytes, is_little_endian: true }),
            [b'M', b'M', 0, 42, ..] => Some(Self { bytes, is_little_endian: false }),
            _ => None,
        }
    }

    /// Offset of the first IFD. A block too short to contain it yields 0, where no IFD is found.
    fn first_ifd(&self) -> u32 {
        self.bytes.get(4..).and_then(<[u8]>::first_chunk).map_or(0, |offset| self.u32(*offset))
    }

    /// The entries of an IFD that are present. Linked IFDs are not followed, so IFDs that point at each other
    /// cannot cause a loop.
    fn entries(&self, ifd: u32) -> impl Iterator<Item = Entry> {
        let (count, rest) = self.ifd(ifd).unwrap_or_default();
        let (entries, _) = rest.as_chunks::<12>();
        entries.iter().take(count).map(|&[t0, t1, k0, k1, c0, c1, c2, c3, v0, v1, v2, v3]| Entry {
            tag: self.u16([t0, t1]),
            kind: self.u16([k0, k1]),
            count: self.u32([c0, c1, c2, c3]),
            value: self.u32([v0, v1, v2, v3]),
            short: self.u16([v0, v1]),
        })
    }

    /// Offset of the next IFD.
    fn next_ifd(&self, ifd: u32) -> Option<u32> {
        let (count, rest) = self.ifd(ifd)?;
        let next = self.u32(*rest.get(12 * count..)?.first_chunk()?);
        (next != 0).then_some(next)
    }

    /// The number of entries of an IFD, and the bytes after that number.
    fn ifd(&self, offset: u32) -> Option<(usize, &'block [u8])> {
        let (count, rest) = self.bytes.get(offset as usize..)?.split_first_chunk()?;
        Some((self.u16(*count).into(), rest))
    }

    fn u16(&self, bytes: [u8; 2]) -> u16 {
        if self.is_little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }
}
