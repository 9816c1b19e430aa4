//! WebP: the chunks of the picture, its colour profile and its animation stay.

use crate::error::Error;
use crate::metadata::{Metadata, Removed, exif, has_data, xmp};

const ICC: u8 = 0x20;
const ALPHA: u8 = 0x10;
const ANIMATION: u8 = 0x02;

/// Place, size and duration of a frame, in front of its chunks.
const FRAME_HEADER: usize = 16;

pub(crate) fn strip(file: &[u8], removed: &mut Removed) -> Result<Vec<u8>, Error> {
    let damaged = || Error::damaged("a WebP without a picture");
    let (chunks, behind) = contents(file).ok_or_else(damaged)?;
    note_rest(behind, removed);

    let mut kept = Vec::with_capacity(file.len() + 1);
    kept.extend_from_slice(b"RIFF\0\0\0\0WEBP");
    let mut drawn = false;
    match Chunk::read(chunks) {
        Some((chunk, rest)) if chunk.is_picture() => {
            // The simple form is this one chunk, and nobody reads on.
            chunk.push(&mut kept);
            each(rest, |chunk| chunk.note(removed));
            drawn = true;
        }
        Some((Chunk { name: b"VP8X", body }, rest)) => {
            push_canvas(body, rest, &mut kept).ok_or_else(damaged)?;
            each(rest, |chunk| match chunk.name {
                b"ANMF" => drawn |= push_frame(&chunk, &mut kept, removed),
                b"ICCP" | b"ANIM" | b"ALPH" | b"VP8 " | b"VP8L" => {
                    chunk.push(&mut kept);
                    drawn |= chunk.is_picture();
                }
                _ => chunk.note(removed),
            });
        }
        _ => {}
    }
    let length = u32::try_from(kept.len() - 8).map_err(Error::damaged)?;
    match kept.get_mut(4..8) {
        Some(place) if drawn => place.copy_from_slice(&length.to_le_bytes()),
        _ => return Err(damaged()),
    }
    Ok(kept)
}

/// The chunks, and what stands behind the last of them.
///
/// A chunk that begins within the length of the file is read as far as it goes, and a length without room
/// for a chunk was never filled in.
fn contents(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32::from_le_bytes(*file.get(4..)?.first_chunk()?) as usize;
    let chunks = file.get(12..)?;
    let end = match length.checked_sub(4) {
        Some(length) if length >= 8 => length,
        _ => return Some((chunks, &[])),
    };
    let mut rest = chunks;
    while chunks.len() - rest.len() < end {
        match Chunk::read(rest) {
            Some((_, after)) => rest = after,
            None => break,
        }
    }
    chunks.split_at_checked(chunks.len() - rest.len())
}

/// The canvas, with no other flags than those of what is kept.
fn push_canvas(body: &[u8], rest: &[u8], kept: &mut Vec<u8>) -> Option<()> {
    let [flags, _, _, _, size @ ..] = *body.first_chunk::<10>()?;
    let mut profile = 0;
    each(rest, |chunk| profile |= if chunk.name == b"ICCP" { ICC } else { 0 });
    let [w0, w1, w2, h0, h1, h2] = size;
    let canvas = [flags & (ALPHA | ANIMATION) | profile, 0, 0, 0, w0, w1, w2, h0, h1, h2];
    Chunk { name: b"VP8X", body: &canvas }.push(kept);
    Some(())
}

/// A frame of an animation, and whether there is a picture in it.
fn push_frame(frame: &Chunk, kept: &mut Vec<u8>, removed: &mut Removed) -> bool {
    let Some((header, chunks)) = frame.body.split_at_checked(FRAME_HEADER) else {
        return false;
    };
    let stays = |chunk: &Chunk| chunk.is_picture() || chunk.name == b"ALPH";
    let (mut length, mut drawn) = (FRAME_HEADER, false);
    each(chunks, |chunk| {
        length += if stays(&chunk) { chunk.padded() } else { 0 };
        drawn |= chunk.is_picture();
    });
    kept.extend_from_slice(frame.name);
    // Never more than the frame had.
    kept.extend((length as u32).to_le_bytes());
    kept.extend_from_slice(header);
    each(chunks, |chunk| match stays(&chunk) {
        true => chunk.push(kept),
        false => chunk.note(removed),
    });
    drawn
}

struct Chunk<'file> {
    name: &'file [u8; 4],
    body: &'file [u8],
}

impl<'file> Chunk<'file> {
    /// The first chunk, as far as it is there, and what follows it.
    fn read(bytes: &'file [u8]) -> Option<(Self, &'file [u8])> {
        let (name, after) = bytes.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (body, after) = after.split_at_checked(length).unwrap_or((after, &[]));
        // A body of odd length is followed by a byte of padding.
        Some((Self { name, body }, after.get(length % 2..).unwrap_or_default()))
    }

    fn is_picture(&self) -> bool {
        matches!(self.name, b"VP8 " | b"VP8L")
    }

    /// How long the chunk is with its header and padding.
    fn padded(&self) -> usize {
        8 + self.body.len().next_multiple_of(2)
    }

    fn push(&self, kept: &mut Vec<u8>) {
        kept.extend_from_slice(self.name);
        // Never more than the chunk had.
        kept.extend((self.body.len() as u32).to_le_bytes());
        kept.extend_from_slice(self.body);
        if self.body.len() % 2 == 1 {
            kept.push(0);
        }
    }

    fn note(&self, removed: &mut Removed) {
        match self.name {
            b"EXIF" => exif::note(self.body, removed),
            b"XMP " => xmp::note(self.body, removed),
            _ => note_rest(self.body, removed),
        }
    }
}

fn each<'file>(mut chunks: &'file [u8], mut visit: impl FnMut(Chunk<'file>)) {
    while let Some((chunk, rest)) = Chunk::read(chunks) {
        visit(chunk);
        chunks = rest;
    }
}

fn note_rest(bytes: &[u8], removed: &mut Removed) {
    if has_data(bytes) {
        removed.add(Metadata::Other);
    }
}
