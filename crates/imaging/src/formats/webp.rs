//! WebP: parses chunks for the header and the ICC profile and decodes with image-webp.

pub(super) mod strip;
mod vp8l;

use std::io::Cursor;

use image_webp::WebPDecoder;

use crate::decoded_image::{ColourSpace, DecodedImage, Header, bytes_at, header_mismatch};
use crate::edit::Edit;
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::exif;
use crate::orient::Orientation;
use crate::pixels::Channels;

const ANIMATION_FLAG: u8 = 0x02;
const ALPHA_FLAG: u8 = 0x10;

/// A VP8 partition declares its length in 24 bits, and image-webp allocates that before reading it.
const MAX_PARTITION_BYTES: u64 = 17 << 20;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let mut header = read_header(file).ok_or_else(|| Error::damaged("a malformed WebP header"))?;
    limits.check(header.width, header.height)?;
    let tables = prefix_code_memory(file, &header)
        .ok_or_else(|| Error::damaged("malformed or too many WebP prefix codes"))?;
    header.decode_memory += tables;
    Ok(header)
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<DecodedImage, Error> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(Error::damaged)?;
    let channels = match decoder.has_alpha() {
        true => Channels::Rgba,
        false => Channels::Rgb,
    };
    if decoder.dimensions() != (header.width, header.height) || channels != header.channels {
        return Err(header_mismatch());
    }
    let mut bytes = header.buffer()?;
    decoder.read_image(&mut bytes).map_err(Error::damaged)?;
    // Not from the decoder, which allocates the length declared by the chunk.
    let profile = chunk(file, b"ICCP").map(<[u8]>::to_vec);
    Ok(header.decoded_image(bytes, ColourSpace::from_icc(profile)))
}

/// Adds an EXIF block to a stripped file.
pub(super) fn add_exif(head: &[u8], length: u64, exif: &[u8]) -> Option<Vec<Edit>> {
    strip::add_exif(head, length, size_and_alpha(head)?, exif)
}

/// From the first chunk.
fn size_and_alpha(file: &[u8]) -> Option<(u32, u32, bool)> {
    let (kind, body) = chunks(file.get(12..)?).next()?;
    match kind {
        b"VP8 " => lossy_size(body).map(|(width, height)| (width, height, false)),
        b"VP8L" => lossless_size(body),
        b"VP8X" => canvas_size(body),
        _ => None,
    }
}

fn read_header(file: &[u8]) -> Option<Header> {
    let (width, height, alpha) = size_and_alpha(file)?;
    // The decoder allocates a lossy frame before it checks its size against the canvas.
    let frames = || chunks(file.get(12..).unwrap_or_default()).chain(first_frame(file));
    let has = |name: &[u8; 4]| frames().any(|(kind, _)| kind == name);
    for (_, body) in frames().filter(|(kind, _)| *kind == b"VP8 ") {
        let (frame_width, frame_height) = lossy_size(body)?;
        if frame_width > width || frame_height > height {
            return None;
        }
    }

    let pixels = u64::from(width) * u64::from(height);
    let length = file.len() as u64;
    // Bytes per pixel: the planes of a lossy frame; its decompressed alpha; a lossless frame and its
    // transforms; the canvas and the frame of an animation.
    let mut scratch = 2 * length + if has(b"VP8 ") { MAX_PARTITION_BYTES } else { 0 };
    for (name, bytes_per_pixel) in [(b"VP8 ", 2), (b"ALPH", 6), (b"VP8L", 5), (b"ANMF", 8)] {
        scratch += if has(name) { bytes_per_pixel * pixels } else { 0 };
    }
    let exif = chunk(file, b"EXIF").map(|exif| exif.strip_prefix(b"Exif\0\0").unwrap_or(exif));
    let channels = if alpha { Channels::Rgba } else { Channels::Rgb };
    Some(Header {
        format: InputFormat::WebP,
        width,
        height,
        orientation: exif.map_or(Orientation::NoTransforms, exif::orientation),
        channels,
        decode_memory: scratch + channels.byte_len(width, height),
    })
}

/// Memory of the prefix code tables of lossless data, for which the decoder has no limit of its own.
fn prefix_code_memory(file: &[u8], header: &Header) -> Option<u64> {
    let (kind, body) = chunks(file.get(12..)?).next()?;
    let animated = kind == b"VP8X" && body.first()? & ANIMATION_FLAG != 0;
    let (width, height) = match chunk(file, b"ANMF") {
        Some(frame) if animated => size_at(frame, 6)?,
        None if !animated => (header.width, header.height),
        // Animated files with a still image, and still files with a frame, are rejected: the decoder mixes
        // them up.
        _ => return None,
    };
    // Like the decoder, only the first chunk of each name: parsing all that a file can hold would take
    // seconds.
    let first = |name: &[u8; 4]| match animated {
        true => first_frame(file).find(|(kind, _)| *kind == name).map(|(_, body)| body),
        false => chunk(file, name),
    };
    let colour = first(b"VP8L").map_or(Some(0), vp8l::table_memory)?;
    let alpha = first(b"ALPH").map_or(Some(0), |body| vp8l::alpha_table_memory(body, width, height))?;
    Some(colour + alpha)
}

fn lossy_size(body: &[u8]) -> Option<(u32, u32)> {
    let [0x9D, 0x01, 0x2A, w0, w1, h0, h1] = bytes_at(body, 3)? else {
        return None;
    };
    let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3FFF);
    Some((side(w0, w1), side(h0, h1)))
}

fn lossless_size(body: &[u8]) -> Option<(u32, u32, bool)> {
    let [0x2F, b0, b1, b2, b3] = bytes_at(body, 0)? else {
        return None;
    };
    let bits = u32::from_le_bytes([b0, b1, b2, b3]);
    Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bits >> 28 & 1 == 1))
}

fn canvas_size(body: &[u8]) -> Option<(u32, u32, bool)> {
    let flags = body.first()?;
    let (width, height) = size_at(body, 4)?;
    Some((width, height, flags & ALPHA_FLAG != 0))
}

fn size_at(body: &[u8], offset: usize) -> Option<(u32, u32)> {
    let [w0, w1, w2, h0, h1, h2] = bytes_at(body, offset)?;
    let side = |b0, b1, b2| u32::from_le_bytes([b0, b1, b2, 0]) + 1;
    Some((side(w0, w1, w2), side(h0, h1, h2)))
}

/// The chunks in the first frame of an animation.
fn first_frame(file: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let frame = chunk(file, b"ANMF").and_then(|body| body.get(16..));
    chunks(frame.unwrap_or_default())
}

fn chunk<'file>(file: &'file [u8], name: &[u8; 4]) -> Option<&'file [u8]> {
    chunks(file.get(12..)?).find(|(kind, _)| *kind == name).map(|(_, body)| body)
}

/// Name and body of each chunk; the last one may be truncated.
fn chunks(mut rest: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (body, after) = after.split_at_checked(length).unwrap_or((after, &[]));
        // A body of odd length is followed by a padding byte.
        rest = after.get(length % 2..).unwrap_or_default();
        Some((name, body))
    })
}
