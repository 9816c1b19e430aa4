//! JPEG: tables, frames and scans stay, and the three application segments that colours depend on.

use crate::error::Error;
use crate::metadata::{Metadata, Removed, exif, photoshop, xmp};

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const DQT: u8 = 0xDB;
const DNL: u8 = 0xDC;
const DRI: u8 = 0xDD;
const APP0: u8 = 0xE0;
const APP1: u8 = 0xE1;
const APP2: u8 = 0xE2;
const APP13: u8 = 0xED;
const APP14: u8 = 0xEE;
const COM: u8 = 0xFE;

/// What is left of a JFIF header: version 1.1, square dots, no thumbnail. Without one, decoders guess
/// otherwise what the components mean.
const JFIF: &[u8] = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0";

/// The length of Adobe's segment, which says whether the colours are transformed. What is longer holds
/// something else besides.
const ADOBE: usize = 12;

pub(crate) fn strip(file: &[u8], removed: &mut Removed) -> Result<Vec<u8>, Error> {
    let mut kept = Vec::with_capacity(file.len() + 2);
    kept.extend([0xFF, SOI]);
    let mut rest = file.get(2..).unwrap_or_default();
    let (mut framed, mut scanned, mut jfif) = (false, false, false);

    while let Some((between, marker, after)) = next_marker(rest) {
        note_rest(between, removed);
        match marker {
            EOI => {
                rest = after;
                break;
            }
            // Another picture behind one that was cut short.
            SOI if scanned => break,
            0x00 | 0x01 | 0xD0..=SOI => {
                rest = after;
                continue;
            }
            _ => {}
        }
        let Some((body, after)) = segment(after) else {
            // Cut short, so no decoder gets beyond it.
            note(marker, after.get(2..).unwrap_or_default(), removed);
            rest = &[];
            break;
        };
        rest = after;
        match marker {
            SOS if framed => {
                push(&mut kept, marker, body);
                let (data, after) = scan(rest);
                kept.extend_from_slice(data);
                rest = after;
                scanned = true;
            }
            // Tables for Huffman and arithmetic codes are among these.
            0xC0..=0xC7 | 0xC9..=0xCF => {
                framed |= !matches!(marker, 0xC4 | 0xCC);
                push(&mut kept, marker, body);
            }
            DQT | DNL | DRI => push(&mut kept, marker, body),
            APP0 if body.starts_with(b"JFIF\0") && body.len() >= JFIF.len() => {
                if !jfif {
                    push(&mut kept, marker, JFIF);
                }
                jfif = true;
                note(marker, body, removed);
            }
            APP2 if body.starts_with(b"ICC_PROFILE\0") => push(&mut kept, marker, body),
            APP14 if body.starts_with(b"Adobe") && body.len() >= ADOBE => {
                let (colours, more) = body.split_at(ADOBE);
                push(&mut kept, marker, colours);
                note_rest(more, removed);
            }
            _ => note(marker, body, removed),
        }
    }
    if !scanned {
        return Err(Error::damaged("a JPEG without a scan"));
    }
    note_rest(rest, removed);
    kept.extend([0xFF, EOI]);
    Ok(kept)
}

fn push(kept: &mut Vec<u8>, marker: u8, body: &[u8]) {
    // Bodies come out of segments, and only ever get shorter.
    let length = body.len() as u16 + 2;
    kept.extend([0xFF, marker]);
    kept.extend(length.to_be_bytes());
    kept.extend_from_slice(body);
}

/// Notes what a segment that is dropped was.
fn note(marker: u8, body: &[u8], removed: &mut Removed) {
    match (marker, body) {
        // The dots of a thumbnail follow the header.
        (APP0, header) if header.starts_with(b"JFIF\0") && header.len() <= JFIF.len() => {}
        (APP0, header) if header.starts_with(b"JFIF\0") || header.starts_with(b"JFXX\0") => {
            removed.add(Metadata::Thumbnail);
        }
        (APP1, [b'E', b'x', b'i', b'f', 0, _, block @ ..]) => exif::note(block, removed),
        (APP1, packet) if packet.starts_with(b"http://ns.adobe.com/x") => xmp::note(packet, removed),
        (APP2, [b'M', b'P', b'F', 0, index @ ..]) if exif::names_previews(index) => {
            removed.add(Metadata::Thumbnail);
        }
        (APP13, body) => match body.strip_prefix(b"Photoshop 3.0\0") {
            Some(resources) => photoshop::note(resources, removed),
            None => removed.add(Metadata::Other),
        },
        (COM, _) => removed.add(Metadata::Comment),
        _ => removed.add(Metadata::Other),
    }
}

/// Between segments, 0xFF is padding too.
fn note_rest(bytes: &[u8], removed: &mut Removed) {
    if bytes.iter().any(|byte| !matches!(byte, 0x00 | 0xFF)) {
        removed.add(Metadata::Other);
    }
}

/// What stands before the next marker and does not belong there, the marker, and what follows it.
fn next_marker(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let start = bytes.iter().position(|byte| *byte == 0xFF)?;
    let (between, fill) = bytes.split_at_checked(start)?;
    let marker = fill.iter().position(|byte| *byte != 0xFF)?;
    let (marker, after) = fill.get(marker..)?.split_first()?;
    Some((between, *marker, after))
}

/// The body of a segment that is wholly there, and what follows it.
fn segment(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u16::from_be_bytes(*bytes.first_chunk()?);
    let (segment, after) = bytes.split_at_checked(length.into())?;
    Some((segment.get(2..)?, after))
}

/// The data of a scan, and what follows it.
///
/// Restarts belong to it. So do reserved markers, which only damage puts there: a decoder that finds one
/// goes on at the next restart.
fn scan(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some((between, marker, after)) = bytes.get(at..).and_then(next_marker) {
        match marker {
            0x00..=0xBF | 0xD0..=0xD7 => at = bytes.len() - after.len(),
            _ => return bytes.split_at(at + between.len()),
        }
    }
    // Cut short: a last 0xFF would make another marker of what is written behind it.
    let end = bytes.iter().rposition(|byte| *byte != 0xFF).map_or(0, |last| last + 1);
    bytes.split_at(end)
}
