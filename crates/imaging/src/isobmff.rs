//! ISO base media file format (ISO/IEC 14496-12) with HEIF items (ISO/IEC 23008-12). Decoding and stripping
//! of AVIF and HEIC share this parser, so both see the same boxes.
//!
//! Every number in a file is untrusted. Lists grow with the bytes present and have a limit, boxes are not
//! parsed recursively, and ambiguous tables (duplicate boxes or entries) are rejected.

mod boxes;
mod item_location;
mod meta;

use std::ops::Range;

pub(crate) use boxes::{BmffBox, MAX_BOXES, Reader, full_box};
pub(crate) use item_location::ItemLocation;
pub(crate) use meta::{Item, Meta};

use boxes::{check_limit, find_unique};

use crate::error::Error;

/// The `ftyp` brands as four-byte words: the major brand, the minor version and the compatible brands.
pub(crate) fn brands(file: &[u8]) -> Option<&[[u8; 4]]> {
    let ftyp = BmffBox::read(file, 0..file.len())?;
    let content = file.get(ftyp.body).filter(|_| ftyp.kind == *b"ftyp")?;
    Some(content.as_chunks().0)
}

/// The brands of image sequences of AV1 and HEVC, and of any codec.
const SEQUENCE_BRANDS: [[u8; 4]; 6] = [*b"avis", *b"hevc", *b"hevx", *b"hevm", *b"hevs", *b"msf1"];

/// The top-level boxes of a file.
pub(crate) struct Container<'file> {
    pub(crate) boxes: Vec<BmffBox>,
    pub(crate) meta: Option<Meta<'file>>,
    /// The `moov` box of a file whose brands are those of an image sequence. In another file it is that of a
    /// video that a phone has appended.
    pub(crate) movie: Option<BmffBox>,
    /// The `mini` box, a compact `meta` without item locations.
    pub(crate) mini: Option<BmffBox>,
    /// The bytes after the last box.
    pub(crate) trailing: Range<usize>,
}

impl<'file> Container<'file> {
    /// A last box that reaches beyond the end of the file counts as trailing bytes, except `mdat`: then the
    /// file is truncated. A second `ftyp` starts another file: phones append the video of a motion photo.
    pub(crate) fn read(file: &'file [u8]) -> Result<Self, Error> {
        let mut boxes = Vec::new();
        let mut offset = 0;
        while let Some(mut next) = BmffBox::read(file, offset..file.len()) {
            if next.body.end > file.len() {
                if next.kind != *b"mdat" {
                    break;
                }
                next.body.end = file.len();
            }
            match (offset, &next.kind) {
                (0, b"ftyp") => {}
                (0, _) => return Err(Error::damaged("an ISO media file without an ftyp box")),
                (_, b"ftyp") => break,
                _ => {}
            }
            check_limit(boxes.len(), MAX_BOXES)?;
            offset = next.body.end;
            boxes.push(next);
        }
        let meta = find_unique(&boxes, b"meta")?.map(|meta| Meta::read(file, meta)).transpose()?;
        let is_sequence =
            brands(file).unwrap_or_default().iter().any(|brand| SEQUENCE_BRANDS.contains(brand));
        let movie = if is_sequence { find_unique(&boxes, b"moov")?.cloned() } else { None };
        let mini = find_unique(&boxes, b"mini")?.cloned();
        // Ambiguous: decoders disagree which of the two to read.
        if meta.is_some() && mini.is_some() {
            return Err(Error::damaged("both a meta box and a mini box"));
        }
        Ok(Self { boxes, meta, movie, mini, trailing: offset..file.len() })
    }
}
