//! Strips GIF files. Copies the logical screen, frames, graphic controls and the loop count, and rewrites the
//! ICC profile.

use crate::error::Error;
use crate::icc;
use crate::metadata::{Metadata, RemovedMetadata, has_data, xmp};

const EXTENSION_INTRODUCER: u8 = 0x21;
const IMAGE_SEPARATOR: u8 = 0x2C;
const TRAILER: u8 = 0x3B;

const GRAPHIC_CONTROL: u8 = 0xF9;
const COMMENT: u8 = 0xFE;
const APPLICATION: u8 = 0xFF;

/// The sub-block before those of a profile.
const PROFILE_NAME: &[u8] = b"\x0BICCRGBG1012";

pub(crate) fn strip(file: &[u8], removed: &mut RemovedMetadata) -> Result<Vec<u8>, Error> {
    let damaged = || Error::damaged("a GIF without an image");
    let mut stripped = Vec::with_capacity(file.len() + icc::MAX_GROWTH);
    let (screen, mut rest) = logical_screen(file).ok_or_else(damaged)?;
    stripped.extend_from_slice(screen);

    let (mut has_frame, mut has_profile) = (false, false);
    // The trailer ends the file, and so does any byte that starts neither a frame nor an extension.
    loop {
        rest = match rest {
            [EXTENSION_INTRODUCER, label, blocks @ ..] => {
                let (data, after) = sub_blocks(blocks);
                match data.strip_prefix(PROFILE_NAME) {
                    Some(profile) if *label == APPLICATION && !has_profile => {
                        push_profile(profile, &mut stripped, removed);
                        has_profile = true;
                    }
                    _ => push_extension(*label, data, &mut stripped, removed),
                }
                after
            }
            [IMAGE_SEPARATOR, ..] => {
                let Some((header, after)) = frame_header(rest) else { break };
                let (data, after) = sub_blocks(after);
                stripped.extend_from_slice(header);
                push_sub_blocks(data, &mut stripped);
                has_frame = true;
                after
            }
            // Some encoders write a second block terminator after a frame.
            [0, after @ ..] => after,
            [TRAILER, after @ ..] => {
                rest = after;
                break;
            }
            _ => break,
        };
    }
    if !has_frame {
        return Err(damaged());
    }
    if has_data(rest) {
        removed.add(Metadata::Other);
    }
    stripped.push(TRAILER);
    Ok(stripped)
}

/// Header, logical screen descriptor and global colour table, and the bytes after them.
fn logical_screen(file: &[u8]) -> Option<(&[u8], &[u8])> {
    file.split_at_checked(13 + colour_table_length(*file.get(10)?))
}

/// Image descriptor, local colour table and the LZW minimum code size before the sub-blocks, and the bytes
/// after them.
fn frame_header(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(10 + colour_table_length(*bytes.get(9)?) + 1)
}

/// The length of the colour table declared by the packed flags.
fn colour_table_length(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Sub-blocks up to their terminator, possibly truncated, and the bytes after them.
fn sub_blocks(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = bytes;
    while let Some((block, after)) = sub_block(rest) {
        rest = after;
        if block.is_empty() {
            break;
        }
    }
    bytes.split_at(bytes.len() - rest.len())
}

/// The first sub-block, possibly truncated, and the bytes after it.
fn sub_block(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    Some(rest.split_at_checked((*length).into()).unwrap_or((rest, &[])))
}

/// Copies sub-blocks and adds the terminator if it is missing.
fn push_sub_blocks(mut data: &[u8], stripped: &mut Vec<u8>) {
    while let Some((block, rest)) = sub_block(data) {
        if !block.is_empty() {
            // A sub-block has at most 255 bytes.
            stripped.push(block.len() as u8);
            stripped.extend_from_slice(block);
        }
        data = rest;
    }
    stripped.push(0);
}

fn push_profile(mut blocks: &[u8], stripped: &mut Vec<u8>, removed: &mut RemovedMetadata) {
    let mut profile = Vec::new();
    while let Some((block, rest)) = sub_block(blocks).filter(|_| profile.len() < icc::MAX_BYTES) {
        profile.extend_from_slice(block);
        blocks = rest;
    }
    if let Some(profile) = icc::rewritten(&profile, removed) {
        stripped.extend([EXTENSION_INTRODUCER, APPLICATION]);
        stripped.extend_from_slice(PROFILE_NAME);
        for block in profile.chunks(255) {
            stripped.push(block.len() as u8);
            stripped.extend_from_slice(block);
        }
        stripped.push(0);
    }
}

fn push_extension(label: u8, data: &[u8], stripped: &mut Vec<u8>, removed: &mut RemovedMetadata) {
    let (name, rest) = sub_block(data).unwrap_or_default();
    match (label, name) {
        (GRAPHIC_CONTROL, [_, _, _, _]) => {
            stripped.extend([EXTENSION_INTRODUCER, GRAPHIC_CONTROL]);
            push_sub_blocks(data.get(..5).unwrap_or_default(), stripped);
        }
        (COMMENT, _) => removed.add(Metadata::Comment),
        (APPLICATION, b"NETSCAPE2.0" | b"ANIMEXTS1.0") => {
            // Sub-block 1 is the loop count. Sub-block 2 is a buffer size for streaming and is dropped.
            if let [3, 1, _, _, ..] = rest {
                stripped.extend([EXTENSION_INTRODUCER, APPLICATION]);
                push_sub_blocks(data.get(..16).unwrap_or_default(), stripped);
            }
        }
        // XMP is stored without sub-blocks; a magic trailer lets parsers skip it.
        (APPLICATION, b"XMP DataXMP") => xmp::record(data, removed),
        (APPLICATION, b"MGKIPTC0000" | b"MGK8BIM0000") => removed.add(Metadata::Iptc),
        _ => removed.add(Metadata::Other),
    }
}
