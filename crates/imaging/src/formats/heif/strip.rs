//! Strips AVIF and HEIC files: metadata and thumbnail items are removed from the `meta` tables and their data
//! is zeroed.
//!
//! `iloc` and the sample tables of image sequences contain file offsets, so no data is moved: removed bytes
//! are overwritten, and only the end of the file is truncated.

mod byte_ranges;
mod movie;
mod rewrite;
mod selection;

use byte_ranges::ItemRanges;
use selection::{ItemsToStrip, StripReason};

use crate::error::Error;
use crate::isobmff::{Container, ItemLocation, Meta};
use crate::metadata::{Metadata, RemovedMetadata, exif, has_data, xmp};

/// Removes EXIF, XMP and every other item that the pixels do not need from a HEIC or AVIF file.
pub(crate) fn strip(file: &[u8], removed: &mut RemovedMetadata) -> Result<Vec<u8>, Error> {
    let Container { boxes, meta, movie, mini, trailing } = Container::read(file)?;
    if has_data(file.get(trailing.clone()).unwrap_or_default()) {
        removed.add(Metadata::Other);
    }
    if let Some(mini) = mini {
        check_mini(mini.content(file))?;
    } else if meta.is_none() && movie.is_none() {
        return Err(Error::damaged("a HEIF file without a meta, moov or mini box"));
    }

    let mut stripped = file.to_vec();
    let mut ranges = ItemRanges::default();
    let mut report = MetadataReport { file, bytes_left: file.len() };
    let mut items_to_strip = ItemsToStrip::new();
    if let Some(meta) = &meta {
        items_to_strip = selection::items_to_strip(file, meta, movie.is_some())?;
        for (id, location) in &meta.locations {
            let is_retained = meta.items.contains_key(id) && !items_to_strip.contains_key(id);
            let set = if is_retained { &mut ranges.retained } else { &mut ranges.removed };
            location.ranges().for_each(|range| set.insert(range));
        }
        report.record(meta, &items_to_strip, removed);
    }
    if let Some(movie) = &movie {
        for meta in movie::strip_movie(file, &mut stripped, movie, removed)? {
            let item_ranges = meta.locations.values().flat_map(ItemLocation::ranges);
            item_ranges.for_each(|range| ranges.removed.insert(range));
            report.record(&meta, &selection::metadata_items(file, &meta), removed);
        }
    }
    ranges.normalize();
    // Headers and the movie are rewritten, and the bytes after the last box removed: no image may need them.
    let headers = boxes.iter().map(|top_level| top_level.start..top_level.body.start);
    let mut rewritten = headers.chain(movie.iter().map(|movie| movie.body.clone())).chain([trailing]);
    if rewritten.any(|range| ranges.retained.overlaps(&range)) {
        return Err(Error::damaged("the data of a HEIF item is not in the content of a box"));
    }

    let mut has_other_data = false;
    let mut end = 0;
    for top_level in &boxes {
        match &top_level.kind {
            b"ftyp" | b"meta" | b"mini" => end = top_level.body.end,
            b"moov" | b"moof" if movie.is_some() => end = top_level.body.end,
            b"mdat" => {
                // The samples of a sequence belong to no item, so bytes outside all items may be samples.
                has_other_data |= ranges.zero_unused(&mut stripped, &top_level.body, movie.is_none());
                end = top_level.body.end;
            }
            _ => {
                byte_ranges::set_box_type(&mut stripped, top_level, b"free");
                let had_data = ranges.zero_unused(&mut stripped, &top_level.body, true);
                let is_xmp =
                    top_level.kind == *b"uuid" && xmp::record_uuid_box(top_level.content(file), removed);
                has_other_data |= had_data && !is_xmp;
                if ranges.retained.overlaps(&top_level.body) {
                    end = top_level.body.end;
                }
            }
        }
    }
    if let Some(meta) = &meta {
        if let Some(idat) = &meta.idat {
            has_other_data |= ranges.zero_unused(&mut stripped, idat, true);
        }
        let content = rewrite::meta_content(&stripped, meta, &items_to_strip, removed)?;
        if let Some(meta_body) = stripped.get_mut(meta.meta.body.clone()) {
            meta_body.copy_from_slice(&content);
        }
    }
    if has_other_data {
        removed.add(Metadata::Other);
    }
    stripped.truncate(end);
    Ok(stripped)
}

/// The `mini` box has no item locations. Encoders hardly write it, so one with metadata is rejected instead
/// of rewritten.
fn check_mini(content: &[u8]) -> Result<(), Error> {
    const VERSION_BITS: u8 = 0xC0;
    const EXIF_AND_XMP_FLAGS: u8 = 0x60;
    match content {
        [first, second, ..] if first & VERSION_BITS == 0 && second & EXIF_AND_XMP_FLAGS == 0 => Ok(()),
        _ => Err(Error::Unsupported("an AVIF with metadata in a mini box")),
    }
}

/// Records the kinds of metadata of removed items. Items may share extents a thousand times over, so the
/// bytes read are limited to the file's length.
struct MetadataReport<'file> {
    file: &'file [u8],
    bytes_left: usize,
}

impl MetadataReport<'_> {
    fn record(&mut self, meta: &Meta, items_to_strip: &ItemsToStrip, removed: &mut RemovedMetadata) {
        for (id, reason) in items_to_strip {
            let range = meta.locations.get(id).and_then(|location| location.ranges().next());
            let data = range.and_then(|range| self.file.get(range)).unwrap_or_default();
            let data = data.get(..self.bytes_left).unwrap_or(data);
            self.bytes_left -= data.len();
            match reason {
                StripReason::Exif => exif::record(tiff_block(data), removed),
                StripReason::Xmp => xmp::record(data, removed),
                StripReason::Thumbnail => removed.add(Metadata::Thumbnail),
                StripReason::Other => removed.add(Metadata::Other),
            }
        }
    }
}

/// An Exif item starts with the offset of its TIFF header.
fn tiff_block(item: &[u8]) -> &[u8] {
    let block = item.split_first_chunk().and_then(|(offset, rest)| {
        let offset = u32::from_be_bytes(*offset) as usize;
        rest.get(offset..)
    });
    block.unwrap_or(item)
}
