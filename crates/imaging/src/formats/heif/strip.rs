//! AVIF and HEIC: items that are metadata or thumbnails leave the tables, and their bytes become zeros.
//!
//! The tables hold positions in the file, and so do the sample tables of an image sequence. So nothing is
//! moved: removed bytes are overwritten, and only the end of a file is cut off.

mod movie;
mod rewrite;
mod selection;
mod spans;

use selection::{Removals, StripReason};
use spans::Claims;

use crate::error::Error;
use crate::isobmff::{Container, Location, Meta};
use crate::metadata::{Metadata, Removed, exif, has_data, xmp};

pub(crate) fn strip(file: &[u8], removed: &mut Removed) -> Result<Vec<u8>, Error> {
    let Container { boxes, meta, movie, mini, trailing } = Container::read(file)?;
    if has_data(file.get(trailing).unwrap_or_default()) {
        removed.add(Metadata::Other);
    }
    if let Some(mini) = mini {
        check_mini(mini.content(file))?;
    } else if meta.is_none() && movie.is_none() {
        return Err(Error::damaged("a HEIF file without tables"));
    }

    let mut kept = file.to_vec();
    let mut claims = Claims::default();
    let mut report = Report { file, left: file.len() };
    let mut removals = Removals::new();
    if let Some(meta) = &meta {
        removals = selection::removals(file, meta, movie.is_some())?;
        for (id, location) in &meta.locations {
            let stays = meta.items.contains_key(id) && !removals.contains_key(id);
            let side = if stays { &mut claims.needed } else { &mut claims.dropped };
            location.spans().for_each(|span| side.add(span));
        }
        report.add(meta, &removals, removed);
    }
    if let Some(movie) = &movie {
        for meta in movie::clean(file, &mut kept, movie, removed)? {
            let spans = meta.locations.values().flat_map(Location::spans);
            spans.for_each(|span| claims.dropped.add(span));
            report.add(&meta, &selection::metadata(file, &meta), removed);
        }
    }
    claims.settle();

    let mut unclaimed = false;
    let mut end = 0;
    for found in &boxes {
        match &found.kind {
            b"ftyp" | b"meta" | b"moov" | b"moof" | b"mini" => end = found.body.end,
            b"mdat" => {
                // No item claims the samples of a sequence, so unclaimed bytes may be samples.
                unclaimed |= claims.clear(&mut kept, &found.body, movie.is_none());
                end = found.body.end;
            }
            _ => {
                spans::rename(&mut kept, found, b"free");
                let cleared = claims.clear(&mut kept, &found.body, true);
                let is_xmp = found.kind == *b"uuid" && xmp::note_uuid(found.content(file), removed);
                unclaimed |= cleared && !is_xmp;
                if claims.needed.touch(&found.body) {
                    end = found.body.end;
                }
            }
        }
    }
    if let Some(meta) = &meta {
        if let Some(idat) = &meta.idat {
            unclaimed |= claims.clear(&mut kept, idat, true);
        }
        let tables = rewrite::tables(&kept, meta, &removals, removed)?;
        if let Some(place) = kept.get_mut(meta.meta.body.clone()) {
            place.copy_from_slice(&tables);
        }
    }
    if unclaimed {
        removed.add(Metadata::Other);
    }
    kept.truncate(end);
    Ok(kept)
}

/// The short form has no locations: it is the coded picture with bits in front. Encoders hardly write it, so
/// one with metadata is not rewritten but refused.
fn check_mini(content: &[u8]) -> Result<(), Error> {
    const VERSION: u8 = 0xC0;
    const EXIF_AND_XMP: u8 = 0x60;
    match content {
        [first, second, ..] if first & VERSION == 0 && second & EXIF_AND_XMP == 0 => Ok(()),
        _ => Err(Error::Unsupported("an AVIF in the short form with metadata")),
    }
}

/// Reads removed items for the list of what was removed. Items may share their bytes, a thousand times over,
/// so no more bytes are read than the file has.
struct Report<'file> {
    file: &'file [u8],
    left: usize,
}

impl Report<'_> {
    fn add(&mut self, meta: &Meta, removals: &Removals, removed: &mut Removed) {
        for (id, reason) in removals {
            let span = meta.locations.get(id).and_then(|location| location.spans().next());
            let data = span.and_then(|span| self.file.get(span)).unwrap_or_default();
            let data = data.get(..self.left).unwrap_or(data);
            self.left -= data.len();
            match reason {
                StripReason::Exif => exif::note(after_offset(data), removed),
                StripReason::Xmp => xmp::note(data, removed),
                StripReason::Thumbnail => removed.add(Metadata::Thumbnail),
                StripReason::Other => removed.add(Metadata::Other),
            }
        }
    }
}

/// An EXIF item begins with the number of bytes before its TIFF header.
fn after_offset(item: &[u8]) -> &[u8] {
    let block = item.split_first_chunk().and_then(|(offset, rest)| {
        let offset = u32::from_be_bytes(*offset) as usize;
        rest.get(offset..)
    });
    block.unwrap_or(item)
}
