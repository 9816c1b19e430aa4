//! Strips JPEG files. Copies tables, frames, scans, and the JFIF and Adobe segments, and rewrites the
//! ICC profile.

use crate::edit::Edit;
use crate::error::Error;
use crate::icc;
use crate::metadata::{Metadata, RemovedMetadata, exif, photoshop, xmp};

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

/// The JFIF header that replaces the original one: version 1.1, square pixels, no thumbnail. Without a JFIF
/// header decoders may guess another colour space.
const JFIF_BODY: &[u8] = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0";

/// The length of an Adobe APP14 segment, which declares the colour transform. Further bytes are not part of
/// it.
const ADOBE_LENGTH: usize = 12;

const PROFILE: &[u8] = b"ICC_PROFILE\0";
/// Segments of a profile are numbered in one byte.
const MAX_PROFILE_SEGMENTS: usize = 255;
/// What a segment has room for beside its length, the name, its number and their count.
const PROFILE_SEGMENT_BYTES: usize = 65_535 - 2 - PROFILE.len() - 2;

pub(crate) fn strip(file: &[u8], removed: &mut RemovedMetadata) -> Result<Vec<u8>, Error> {
    let mut stripped = Vec::with_capacity(file.len() + icc::MAX_GROWTH);
    stripped.extend([0xFF, SOI]);
    let mut rest = file.get(2..).unwrap_or_default();
    let (mut has_frame, mut has_scan, mut has_jfif) = (false, false, false);
    let (mut profile, mut profile_offset) = (Vec::new(), 0);

    while let Some((stray, marker, after)) = next_marker(rest) {
        record_stray_bytes(stray, removed);
        match marker {
            EOI => {
                rest = after;
                break;
            }
            // A second image after a truncated one.
            SOI if has_scan => break,
            0x00 | 0x01 | 0xD0..=SOI => {
                rest = after;
                continue;
            }
            _ => {}
        }
        let Some((body, after)) = segment(after) else {
            // A truncated segment: no decoder reads beyond it.
            record_segment(marker, after.get(2..).unwrap_or_default(), removed);
            rest = &[];
            break;
        };
        rest = after;
        match marker {
            SOS if has_frame => {
                push_segment(&mut stripped, marker, body);
                let (data, after) = scan_data(rest);
                stripped.extend_from_slice(data);
                rest = after;
                has_scan = true;
            }
            // Includes the Huffman and arithmetic coding tables (DHT, DAC).
            0xC0..=0xC7 | 0xC9..=0xCF => {
                has_frame |= !matches!(marker, 0xC4 | 0xCC);
                push_segment(&mut stripped, marker, body);
            }
            DQT | DNL | DRI => push_segment(&mut stripped, marker, body),
            APP0 if body.starts_with(b"JFIF\0") && body.len() >= JFIF_BODY.len() => {
                if !has_jfif {
                    push_segment(&mut stripped, marker, JFIF_BODY);
                }
                has_jfif = true;
                record_segment(marker, body, removed);
            }
            APP2 if body.starts_with(PROFILE) && !has_scan && profile.len() <= MAX_PROFILE_SEGMENTS => {
                if profile.is_empty() {
                    profile_offset = stripped.len();
                }
                profile.push(body.get(PROFILE.len()..).unwrap_or_default());
            }
            APP14 if body.starts_with(b"Adobe") && body.len() >= ADOBE_LENGTH => {
                let (transform, extra) = body.split_at(ADOBE_LENGTH);
                push_segment(&mut stripped, marker, transform);
                record_stray_bytes(extra, removed);
            }
            _ => record_segment(marker, body, removed),
        }
    }
    if !has_scan {
        return Err(Error::damaged("a JPEG without a scan"));
    }
    record_stray_bytes(rest, removed);
    if !profile.is_empty() {
        let segments = rewritten_profile(profile, removed);
        stripped.splice(profile_offset..profile_offset, segments);
    }
    stripped.extend([0xFF, EOI]);
    Ok(stripped)
}

/// The segments of a profile, from those of the file. None of an incomplete one, which decoders ignore.
fn rewritten_profile(segments: Vec<&[u8]>, removed: &mut RemovedMetadata) -> Vec<u8> {
    let Some(profile) = joined_profile(segments) else {
        removed.add(Metadata::Other);
        return Vec::new();
    };
    let profile = icc::rewritten(&profile, removed).unwrap_or_default();
    let parts = profile.chunks(PROFILE_SEGMENT_BYTES);
    let count = parts.len() as u8;
    let mut written = Vec::new();
    for (number, part) in (1_u8..).zip(parts) {
        push_segment(&mut written, APP2, &[PROFILE, &[number, count], part].concat());
    }
    written
}

/// The segments may be in any order.
fn joined_profile(segments: Vec<&[u8]>) -> Option<Vec<u8>> {
    let parts = segments.into_iter().map(|segment| segment.split_first_chunk::<2>());
    let mut parts: Vec<_> = parts.collect::<Option<_>>()?;
    parts.sort_unstable_by_key(|([number, _], _)| *number);
    let expected = (1..=parts.len()).map(|number| [number, parts.len()]);
    let is_complete = parts.iter().map(|(position, _)| position.map(usize::from)).eq(expected);
    is_complete.then(|| parts.iter().flat_map(|(_, part)| *part).copied().collect())
}

/// Adds an EXIF block to a stripped file.
pub(crate) fn add_exif(head: &[u8], exif: &[u8]) -> Option<Vec<Edit>> {
    let mut bytes = Vec::new();
    push_segment(&mut bytes, APP1, &[b"Exif\0\0", exif].concat());
    Some(vec![Edit::insert(jfif_end(head)? as u64, bytes)])
}

/// Adds an ICC profile of one segment, which is at most 64 kB, to a file without one.
pub(crate) fn add_profile(file: &[u8], profile: &[u8]) -> Option<Vec<u8>> {
    let (before, after) = file.split_at_checked(jfif_end(file)?)?;
    let mut extended = before.to_vec();
    // The first segment of one.
    push_segment(&mut extended, APP2, &[PROFILE, &[1, 1], profile].concat());
    extended.extend_from_slice(after);
    Some(extended)
}

/// Where the JFIF header ends, which other segments follow.
fn jfif_end(file: &[u8]) -> Option<usize> {
    let has_jfif = file.get(2..)?.starts_with(&[0xFF, APP0]);
    Some(if has_jfif { 2 + 4 + JFIF_BODY.len() } else { 2 })
}

fn push_segment(stripped: &mut Vec<u8>, marker: u8, body: &[u8]) {
    // The bodies are copied from segments and never grow.
    let length = body.len() as u16 + 2;
    stripped.extend([0xFF, marker]);
    stripped.extend(length.to_be_bytes());
    stripped.extend_from_slice(body);
}

/// Records the kind of metadata of a removed segment.
fn record_segment(marker: u8, body: &[u8], removed: &mut RemovedMetadata) {
    match (marker, body) {
        // The pixels of a thumbnail follow the JFIF header.
        (APP0, header) if header.starts_with(b"JFIF\0") && header.len() <= JFIF_BODY.len() => {}
        (APP0, header) if header.starts_with(b"JFIF\0") || header.starts_with(b"JFXX\0") => {
            removed.add(Metadata::Thumbnail);
        }
        (APP1, [b'E', b'x', b'i', b'f', 0, _, block @ ..]) => exif::record(block, removed),
        (APP1, packet) if packet.starts_with(b"http://ns.adobe.com/x") => xmp::record(packet, removed),
        (APP2, [b'M', b'P', b'F', 0, index @ ..]) if exif::lists_other_images(index) => {
            removed.add(Metadata::Thumbnail);
        }
        (APP13, body) => match body.strip_prefix(b"Photoshop 3.0\0") {
            Some(resources) => photoshop::record(resources, removed),
            None => removed.add(Metadata::Other),
        },
        (COM, _) => removed.add(Metadata::Comment),
        _ => removed.add(Metadata::Other),
    }
}

/// Between segments 0xFF is padding too.
fn record_stray_bytes(bytes: &[u8], removed: &mut RemovedMetadata) {
    if bytes.iter().any(|byte| !matches!(byte, 0x00 | 0xFF)) {
        removed.add(Metadata::Other);
    }
}

/// The stray bytes before the next marker, the marker, and the bytes after it.
fn next_marker(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let start = bytes.iter().position(|byte| *byte == 0xFF)?;
    let (stray, fill) = bytes.split_at_checked(start)?;
    let marker = fill.iter().position(|byte| *byte != 0xFF)?;
    let (marker, after) = fill.get(marker..)?.split_first()?;
    Some((stray, *marker, after))
}

/// The body of a complete segment, and the bytes after it.
fn segment(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u16::from_be_bytes(*bytes.first_chunk()?);
    let (segment, after) = bytes.split_at_checked(length.into())?;
    Some((segment.get(2..)?, after))
}

/// The entropy-coded data of a scan, and the bytes after it.
///
/// Includes restart markers, and reserved markers too: they occur only in corrupt data, where a decoder
/// resynchronises at the next restart marker.
fn scan_data(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut offset = 0;
    while let Some((stray, marker, after)) = bytes.get(offset..).and_then(next_marker) {
        match marker {
            0x00..=0xBF | 0xD0..=0xD7 => offset = bytes.len() - after.len(),
            _ => return bytes.split_at(offset + stray.len()),
        }
    }
    // Truncated: a trailing 0xFF would combine with the EOI marker written after it.
    let end = bytes.iter().rposition(|byte| *byte != 0xFF).map_or(0, |last| last + 1);
    bytes.split_at(end)
}
