//! The tables of an image sequence: boxes that do not describe its pictures and their timing become empty.

use super::rewrite::HANDLER_NAME;
use super::spans::{rename, zero};
use crate::error::Error;
use crate::isobmff::{BmffBox, MAX_BOXES, Meta};
use crate::metadata::{Metadata, Removed, xmp};

/// Empties metadata, and returns the `meta` boxes that were part of it: the bytes of their items are
/// elsewhere in the file.
pub(super) fn clean<'file>(
    file: &'file [u8],
    kept: &mut [u8],
    moov: &BmffBox,
    removed: &mut Removed,
) -> Result<Vec<Meta<'file>>, Error> {
    let mut metas = Vec::new();
    let mut open = vec![moov.clone()];
    let mut count = 0;
    while let Some(outer) = open.pop() {
        for child in outer.children(file, 0) {
            let child = child?;
            count += 1;
            if count > MAX_BOXES {
                return Err(Error::damaged("an image sequence of too many boxes"));
            }
            match &child.kind {
                b"trak" if !shows_pictures(file, &child) => empty(file, kept, &child, removed),
                b"trak" | b"mdia" | b"minf" | b"stbl" => open.push(child),
                b"mvhd" | b"tkhd" | b"mdhd" => clear_times(file, kept, &child, removed),
                b"hdlr" => {
                    zero(kept, child.body.start + HANDLER_NAME..child.body.end);
                }
                b"meta" => {
                    // QuickTime's has no version in front of its first box, and no items.
                    let is_quicktime = child.content(file).get(4..8) == Some(b"hdlr");
                    if !is_quicktime {
                        metas.push(Meta::read(file, &child)?);
                    }
                    empty(file, kept, &child, removed);
                }
                b"udta" | b"uuid" | b"free" | b"skip" => empty(file, kept, &child, removed),
                _ => {}
            }
        }
    }
    Ok(metas)
}

fn empty(file: &[u8], kept: &mut [u8], found: &BmffBox, removed: &mut Removed) {
    rename(kept, found, b"free");
    let had_data = zero(kept, found.body.clone());
    let is_xmp = found.kind == *b"uuid" && xmp::note_uuid(found.content(file), removed);
    if had_data && !is_xmp {
        removed.add(Metadata::Other);
    }
}

/// Whether a track has pictures or their opacity, rather than sound, text or positions.
fn shows_pictures(file: &[u8], trak: &BmffBox) -> bool {
    let child = |outer: &BmffBox, kind| outer.children(file, 0).flatten().find(|child| child.kind == kind);
    let handler = child(trak, *b"mdia").and_then(|mdia| child(&mdia, *b"hdlr"));
    let kind = handler.and_then(|handler| handler.content(file).get(8..12));
    matches!(kind, Some(b"pict" | b"vide" | b"auxv"))
}

/// Clears when the sequence was made and changed.
fn clear_times(file: &[u8], kept: &mut [u8], header: &BmffBox, removed: &mut Removed) {
    let times = if header.version(file) == 0 { 8 } else { 16 };
    let start = header.body.start + 4;
    if zero(kept, start..(start + times).min(header.body.end)) {
        removed.add(Metadata::Other);
    }
}
