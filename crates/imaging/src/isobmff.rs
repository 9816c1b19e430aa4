//! ISO base media files (ISO/IEC 14496-12) with HEIF items (ISO/IEC 23008-12): the one reader of AVIF and
//! HEIC files, for decoding and for stripping, so that both see the same boxes.
//!
//! Every number in here is untrusted. Lists grow with the bytes that are present and stop at a limit, no box
//! is entered recursively, and a table that can be read in two ways is refused.

mod boxes;
mod locations;
mod meta;

use std::ops::Range;

pub(crate) use boxes::{BmffBox, MAX_BOXES, Reader, full_box};
pub(crate) use locations::Location;
pub(crate) use meta::{Item, Meta};

use boxes::{check_limit, only};

use crate::error::Error;

/// The brands in front of a file: the major one, a version, and those it is compatible with.
pub(crate) fn brands(file: &[u8]) -> Option<&[[u8; 4]]> {
    let ftyp = BmffBox::read(file, 0..file.len())?;
    let content = file.get(ftyp.body).filter(|_| ftyp.kind == *b"ftyp")?;
    Some(content.as_chunks().0)
}

/// The top level of a file.
pub(crate) struct Container<'file> {
    pub(crate) boxes: Vec<BmffBox>,
    pub(crate) meta: Option<Meta<'file>>,
    /// The tables of an image sequence: `moov`.
    pub(crate) movie: Option<BmffBox>,
    /// The short form of `meta`, which has no room for locations.
    pub(crate) mini: Option<BmffBox>,
    /// The bytes after the last box.
    pub(crate) trailing: Range<usize>,
}

impl<'file> Container<'file> {
    /// A last box that reaches beyond the end of the file is trailing bytes, unless it is the one with the
    /// coded pictures: then the file was cut short.
    pub(crate) fn read(file: &'file [u8]) -> Result<Self, Error> {
        let mut boxes = Vec::new();
        let mut at = 0;
        while let Some(mut found) = BmffBox::read(file, at..file.len()) {
            if found.body.end > file.len() {
                if found.kind != *b"mdat" {
                    break;
                }
                found.body.end = file.len();
            }
            if at == 0 && found.kind != *b"ftyp" {
                return Err(Error::damaged("an ISO media file without ftyp"));
            }
            check_limit(boxes.len(), MAX_BOXES)?;
            at = found.body.end;
            boxes.push(found);
        }
        let meta = only(&boxes, b"meta")?.map(|meta| Meta::read(file, meta)).transpose()?;
        let movie = only(&boxes, b"moov")?.cloned();
        let mini = only(&boxes, b"mini")?.cloned();
        // One decoder would read the one, another the other.
        if meta.is_some() && mini.is_some() {
            return Err(Error::damaged("both a meta box and a mini box"));
        }
        Ok(Self { boxes, meta, movie, mini, trailing: at..file.len() })
    }
}
