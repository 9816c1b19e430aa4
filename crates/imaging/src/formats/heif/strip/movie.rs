//! Strips the `moov` box of an image sequence: replaces boxes other than image tracks and timing by `free`
//! boxes, and rewrites ICC profiles.

use super::byte_ranges::{set_box_type, zero};
use super::rewrite::{HANDLER_NAME_OFFSET, colour_content};
use crate::error::Error;
use crate::isobmff::{BmffBox, MAX_BOXES, Meta};
use crate::metadata::{Metadata, RemovedMetadata, xmp};

/// Version, flags and the number of entries in a `stsd` box.
const SAMPLE_ENTRIES_OFFSET: usize = 8;
/// What a sample entry of images has before its boxes.
const IMAGE_ENTRY_BYTES: usize = 78;

/// Returns the removed `meta` boxes: the data of their items is elsewhere in the file.
pub(super) fn strip_movie<'file>(
    file: &'file [u8],
    stripped: &mut [u8],
    moov: &BmffBox,
    removed: &mut RemovedMetadata,
) -> Result<Vec<Meta<'file>>, Error> {
    let mut metas = Vec::new();
    // With the bytes before the first child.
    let mut containers = vec![(moov.clone(), 0)];
    let mut count = 0;
    while let Some((container, skip)) = containers.pop() {
        for child in container.children(file, skip) {
            let child = child?;
            count += 1;
            if count > MAX_BOXES {
                return Err(Error::damaged("an image sequence with too many boxes"));
            }
            match &child.kind {
                b"trak" if !is_image_track(file, &child) => {
                    replace_with_free_box(file, stripped, &child, removed);
                }
                b"trak" | b"mdia" | b"minf" | b"stbl" => containers.push((child, 0)),
                b"stsd" => containers.push((child, SAMPLE_ENTRIES_OFFSET)),
                b"av01" | b"hvc1" | b"hev1" => containers.push((child, IMAGE_ENTRY_BYTES)),
                b"colr" => match colour_content(child.content(file), removed) {
                    Some(content) => {
                        if let Some(body) = stripped.get_mut(child.body) {
                            body.copy_from_slice(&content);
                        }
                    }
                    None => replace_with_free_box(file, stripped, &child, removed),
                },
                b"mvhd" | b"tkhd" | b"mdhd" => clear_times(file, stripped, &child, removed),
                b"hdlr" => {
                    zero(stripped, child.body.start + HANDLER_NAME_OFFSET..child.body.end);
                }
                b"meta" => {
                    // A QuickTime `meta` box has no version field before its first child, and no items.
                    let is_quicktime = child.content(file).get(4..8) == Some(b"hdlr");
                    if !is_quicktime {
                        metas.push(Meta::read(file, &child)?);
                    }
                    replace_with_free_box(file, stripped, &child, removed);
                }
                b"udta" | b"uuid" | b"free" | b"skip" => {
                    replace_with_free_box(file, stripped, &child, removed);
                }
                _ => {}
            }
        }
    }
    Ok(metas)
}

fn replace_with_free_box(
    file: &[u8],
    stripped: &mut [u8],
    removed_box: &BmffBox,
    removed: &mut RemovedMetadata,
) {
    set_box_type(stripped, removed_box, b"free");
    let had_data = zero(stripped, removed_box.body.clone());
    let is_xmp = removed_box.kind == *b"uuid" && xmp::record_uuid_box(removed_box.content(file), removed);
    if had_data && !is_xmp {
        removed.add(Metadata::Other);
    }
}

/// Whether a track contains images or alpha, rather than audio, text or positions.
fn is_image_track(file: &[u8], trak: &BmffBox) -> bool {
    let child = |parent: &BmffBox, kind| parent.children(file, 0).flatten().find(|child| child.kind == kind);
    let handler = child(trak, *b"mdia").and_then(|mdia| child(&mdia, *b"hdlr"));
    let kind = handler.and_then(|handler| handler.content(file).get(8..12));
    matches!(kind, Some(b"pict" | b"vide" | b"auxv"))
}

/// Zeroes the creation and modification times.
fn clear_times(file: &[u8], stripped: &mut [u8], header: &BmffBox, removed: &mut RemovedMetadata) {
    let length = if header.version(file) == 0 { 8 } else { 16 };
    let start = header.body.start + 4;
    if zero(stripped, start..(start + length).min(header.body.end)) {
        removed.add(Metadata::Other);
    }
}
