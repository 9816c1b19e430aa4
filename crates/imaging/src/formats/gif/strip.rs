//! GIF: screen, frames, their timing, the number of rounds and a colour profile stay.

use crate::error::Error;
use crate::metadata::{Metadata, Removed, has_data, xmp};

const EXTENSION: u8 = 0x21;
const FRAME: u8 = 0x2C;
const TRAILER: u8 = 0x3B;

const CONTROL: u8 = 0xF9;
const COMMENT: u8 = 0xFE;
const APPLICATION: u8 = 0xFF;

pub(crate) fn strip(file: &[u8], removed: &mut Removed) -> Result<Vec<u8>, Error> {
    let damaged = || Error::damaged("a GIF without a picture");
    let mut kept = Vec::with_capacity(file.len() + 2);
    let (screen, mut rest) = screen(file).ok_or_else(damaged)?;
    kept.extend_from_slice(screen);

    let mut drawn = false;
    // Whatever is neither a frame nor an extension ends the picture, and so does the trailer.
    loop {
        rest = match rest {
            [EXTENSION, label, blocks @ ..] => {
                let (data, after) = blocks_of(blocks);
                push_extension(*label, data, &mut kept, removed);
                after
            }
            [FRAME, ..] => {
                let Some((header, after)) = frame(rest) else { break };
                let (data, after) = blocks_of(after);
                kept.extend_from_slice(header);
                push_blocks(data, &mut kept);
                drawn = true;
                after
            }
            // Some encoders end a frame twice.
            [0, after @ ..] => after,
            [TRAILER, after @ ..] => {
                rest = after;
                break;
            }
            _ => break,
        };
    }
    if !drawn {
        return Err(damaged());
    }
    if has_data(rest) {
        removed.add(Metadata::Other);
    }
    kept.push(TRAILER);
    Ok(kept)
}

/// The header, the screen's description and its colour table; and what follows.
fn screen(file: &[u8]) -> Option<(&[u8], &[u8])> {
    file.split_at_checked(13 + table(*file.get(10)?))
}

/// A frame's description, its colour table and the first byte of its data, which stands before the
/// blocks; and what follows.
fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(10 + table(*bytes.get(9)?) + 1)
}

/// The length of the colour table that the flags announce.
fn table(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Blocks up to the empty one that ends them, or as far as they are there; and what follows.
fn blocks_of(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = bytes;
    while let Some((block, after)) = block(rest) {
        rest = after;
        if block.is_empty() {
            break;
        }
    }
    bytes.split_at(bytes.len() - rest.len())
}

/// The first block, as far as it is there, and what follows it.
fn block(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    Some(rest.split_at_checked((*length).into()).unwrap_or((rest, &[])))
}

/// Copies blocks, and closes them where they were cut short.
fn push_blocks(mut data: &[u8], kept: &mut Vec<u8>) {
    while let Some((block, rest)) = block(data) {
        if !block.is_empty() {
            // A block is as long as a byte can say.
            kept.push(block.len() as u8);
            kept.extend_from_slice(block);
        }
        data = rest;
    }
    kept.push(0);
}

fn push_extension(label: u8, data: &[u8], kept: &mut Vec<u8>, removed: &mut Removed) {
    let (name, rest) = block(data).unwrap_or_default();
    match (label, name) {
        (CONTROL, [_, _, _, _]) => {
            kept.extend([EXTENSION, CONTROL]);
            push_blocks(data.get(..5).unwrap_or_default(), kept);
        }
        (COMMENT, _) => removed.add(Metadata::Comment),
        (APPLICATION, b"NETSCAPE2.0" | b"ANIMEXTS1.0") => {
            // How often to show it all. Any other block of theirs is advice to modems.
            if let [3, 1, _, _, ..] = rest {
                kept.extend([EXTENSION, APPLICATION]);
                push_blocks(data.get(..16).unwrap_or_default(), kept);
            }
        }
        (APPLICATION, b"ICCRGBG1012") => {
            kept.extend([EXTENSION, APPLICATION]);
            push_blocks(data, kept);
        }
        // Not in blocks, but with a tail that makes it look so.
        (APPLICATION, b"XMP DataXMP") => xmp::note(data, removed),
        (APPLICATION, b"MGKIPTC0000" | b"MGK8BIM0000") => removed.add(Metadata::Iptc),
        _ => removed.add(Metadata::Other),
    }
}
