//! Strips WebP files. Copies the chunks of the image and its animation, and rewrites the ICC profile.

use crate::edit::Edit;
use crate::error::Error;
use crate::icc;
use crate::metadata::{Metadata, RemovedMetadata, exif, has_data, xmp};

const ICC_FLAG: u8 = 0x20;
const ALPHA_FLAG: u8 = 0x10;
const EXIF_FLAG: u8 = 0x08;
const ANIMATION_FLAG: u8 = 0x02;

/// Position, size and duration of a frame, before its chunks.
const FRAME_HEADER_BYTES: usize = 16;

pub(crate) fn strip(file: &[u8], removed: &mut RemovedMetadata) -> Result<Vec<u8>, Error> {
    let damaged = || Error::damaged("a WebP without an image");
    let (chunks, trailing) = riff_chunks(file).ok_or_else(damaged)?;
    record_bytes(trailing, removed);

    let mut stripped = Vec::with_capacity(file.len() + 1 + icc::MAX_GROWTH);
    stripped.extend_from_slice(b"RIFF\0\0\0\0WEBP");
    let mut has_image = false;
    match Chunk::read(chunks) {
        Some((chunk, rest)) if chunk.is_image_data() => {
            // The simple file format has a single chunk; decoders ignore further ones.
            chunk.push(&mut stripped);
            for_each_chunk(rest, |chunk| chunk.record(removed));
            has_image = true;
        }
        Some((Chunk { name: b"VP8X", body }, rest)) => {
            let mut profile = rewritten_profile(rest, removed);
            push_canvas(body, profile.is_some(), &mut stripped).ok_or_else(damaged)?;
            for_each_chunk(rest, |chunk| match chunk.name {
                // Only the first: decoders ignore others.
                b"ICCP" => match profile.take() {
                    Some(profile) => Chunk { body: &profile, ..chunk }.push(&mut stripped),
                    None => chunk.record(removed),
                },
                b"ANMF" => has_image |= push_frame(&chunk, &mut stripped, removed),
                b"ANIM" | b"ALPH" | b"VP8 " | b"VP8L" => {
                    chunk.push(&mut stripped);
                    has_image |= chunk.is_image_data();
                }
                _ => chunk.record(removed),
            });
        }
        _ => {}
    }
    let length = u32::try_from(stripped.len() - 8).map_err(Error::damaged)?;
    match stripped.get_mut(4..8) {
        Some(riff_length) if has_image => riff_length.copy_from_slice(&length.to_le_bytes()),
        _ => return Err(damaged()),
    }
    Ok(stripped)
}

/// Adds an EXIF block to a stripped file, which needs the extended file format. `canvas` are width, height
/// and whether it has alpha.
pub(crate) fn add_exif(head: &[u8], length: u64, canvas: (u32, u32, bool), exif: &[u8]) -> Option<Vec<Edit>> {
    let mut exif_chunk = Vec::new();
    Chunk { name: b"EXIF", body: exif }.push(&mut exif_chunk);
    let mut riff_length = u32::try_from(length.checked_sub(8)?).ok()?.checked_add(exif_chunk.len() as u32)?;
    let (first, _) = Chunk::read(head.get(12..)?)?;
    let canvas = if first.name == b"VP8X" {
        Edit { range: 20..21, bytes: vec![first.body.first()? | EXIF_FLAG] }
    } else {
        let (width, height, has_alpha) = canvas;
        let [w0, w1, w2, _] = width.checked_sub(1)?.to_le_bytes();
        let [h0, h1, h2, _] = height.checked_sub(1)?.to_le_bytes();
        let flags = EXIF_FLAG | if has_alpha { ALPHA_FLAG } else { 0 };
        let mut chunk = Vec::new();
        Chunk { name: b"VP8X", body: &[flags, 0, 0, 0, w0, w1, w2, h0, h1, h2] }.push(&mut chunk);
        riff_length = riff_length.checked_add(chunk.len() as u32)?;
        Edit::insert(12, chunk)
    };
    let riff_length = Edit { range: 4..8, bytes: riff_length.to_le_bytes().to_vec() };
    Some(vec![riff_length, canvas, Edit::insert(length, exif_chunk)])
}

/// The chunks, and the bytes after the RIFF container.
///
/// A chunk that starts within the declared RIFF length is read to its end. A RIFF length too small for a
/// chunk is ignored: the encoder never filled it in.
fn riff_chunks(file: &[u8]) -> Option<(&[u8], &[u8])> {
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

/// The first profile among the chunks.
fn rewritten_profile(chunks: &[u8], removed: &mut RemovedMetadata) -> Option<Vec<u8>> {
    let mut profile = None;
    for_each_chunk(chunks, |chunk| {
        if chunk.name == b"ICCP" {
            profile.get_or_insert(chunk.body);
        }
    });
    icc::rewritten(profile?, removed)
}

/// Writes a VP8X chunk with only the flags of copied chunks.
fn push_canvas(body: &[u8], has_profile: bool, stripped: &mut Vec<u8>) -> Option<()> {
    let [flags, _, _, _, size @ ..] = *body.first_chunk::<10>()?;
    let icc_flag = if has_profile { ICC_FLAG } else { 0 };
    let [w0, w1, w2, h0, h1, h2] = size;
    let canvas = [flags & (ALPHA_FLAG | ANIMATION_FLAG) | icc_flag, 0, 0, 0, w0, w1, w2, h0, h1, h2];
    Chunk { name: b"VP8X", body: &canvas }.push(stripped);
    Some(())
}

/// Copies a frame of an animation. Returns whether it contains image data.
fn push_frame(frame: &Chunk, stripped: &mut Vec<u8>, removed: &mut RemovedMetadata) -> bool {
    let Some((header, chunks)) = frame.body.split_at_checked(FRAME_HEADER_BYTES) else {
        return false;
    };
    let is_copied = |chunk: &Chunk| chunk.is_image_data() || chunk.name == b"ALPH";
    let (mut length, mut has_image) = (FRAME_HEADER_BYTES, false);
    for_each_chunk(chunks, |chunk| {
        length += if is_copied(&chunk) { chunk.padded_length() } else { 0 };
        has_image |= chunk.is_image_data();
    });
    stripped.extend_from_slice(frame.name);
    // At most the length of the original frame.
    stripped.extend((length as u32).to_le_bytes());
    stripped.extend_from_slice(header);
    for_each_chunk(chunks, |chunk| match is_copied(&chunk) {
        true => chunk.push(stripped),
        false => chunk.record(removed),
    });
    has_image
}

struct Chunk<'file> {
    name: &'file [u8; 4],
    body: &'file [u8],
}

impl<'file> Chunk<'file> {
    /// The first chunk, possibly truncated, and the bytes after it.
    fn read(bytes: &'file [u8]) -> Option<(Self, &'file [u8])> {
        let (name, after) = bytes.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (body, after) = after.split_at_checked(length).unwrap_or((after, &[]));
        // A body of odd length is followed by a padding byte.
        Some((Self { name, body }, after.get(length % 2..).unwrap_or_default()))
    }

    fn is_image_data(&self) -> bool {
        matches!(self.name, b"VP8 " | b"VP8L")
    }

    /// The length of the chunk with its header and padding.
    fn padded_length(&self) -> usize {
        8 + self.body.len().next_multiple_of(2)
    }

    fn push(&self, stripped: &mut Vec<u8>) {
        stripped.extend_from_slice(self.name);
        // About the length of the original chunk at most.
        stripped.extend((self.body.len() as u32).to_le_bytes());
        stripped.extend_from_slice(self.body);
        if self.body.len() % 2 == 1 {
            stripped.push(0);
        }
    }

    fn record(&self, removed: &mut RemovedMetadata) {
        match self.name {
            b"EXIF" => exif::record(self.body, removed),
            b"XMP " => xmp::record(self.body, removed),
            _ => record_bytes(self.body, removed),
        }
    }
}

fn for_each_chunk<'file>(mut chunks: &'file [u8], mut handle: impl FnMut(Chunk<'file>)) {
    while let Some((chunk, rest)) = Chunk::read(chunks) {
        handle(chunk);
        chunks = rest;
    }
}

fn record_bytes(bytes: &[u8], removed: &mut RemovedMetadata) {
    if has_data(bytes) {
        removed.add(Metadata::Other);
    }
}
