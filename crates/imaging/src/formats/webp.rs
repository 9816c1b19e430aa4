//! WebP: a walk along its chunks for the header and the colour profile, image-webp for the pixels.

pub(super) mod strip;
mod vp8l;

use std::io::Cursor;

use image_webp::WebPDecoder;

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::exif;
use crate::orient::Orientation;
use crate::picture::{Colours, Header, Picture, bytes_at, other_picture};
use crate::pixels::Channels;

const ANIMATION: u8 = 0x02;
const ALPHA: u8 = 0x10;

/// A part of a lossy picture says in 24 bits how long it is, and the decoder believes it before it looks.
const CLAIM: u64 = 17 << 20;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let mut header = read(file).ok_or_else(|| Error::damaged("a broken WebP header"))?;
    limits.check(header.width, header.height)?;
    let tables = tables(file, &header).ok_or_else(|| Error::damaged("broken code tables, or too many"))?;
    header.decoding += tables;
    Ok(header)
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<Picture, Error> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(Error::damaged)?;
    let channels = match decoder.has_alpha() {
        true => Channels::Rgba,
        false => Channels::Rgb,
    };
    if decoder.dimensions() != (header.width, header.height) || channels != header.channels {
        return Err(other_picture());
    }
    let mut bytes = header.buffer()?;
    decoder.read_image(&mut bytes).map_err(Error::damaged)?;
    // Not from the decoder, which allocates whatever length the chunk claims.
    let profile = chunk(file, b"ICCP").map(<[u8]>::to_vec);
    Ok(header.picture(bytes, Colours::from_profile(profile)))
}

fn read(file: &[u8]) -> Option<Header> {
    let (kind, body) = chunks(file.get(12..)?).next()?;
    let (width, height, alpha) = match kind {
        b"VP8 " => lossy_size(body).map(|(width, height)| (width, height, false))?,
        b"VP8L" => lossless_size(body)?,
        b"VP8X" => canvas_size(body)?,
        _ => return None,
    };
    // The decoder allocates for a lossy frame before it holds its size against the canvas.
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
    // Bytes per pixel: the planes of a lossy frame; its alpha, unpacked; a lossless frame with its
    // transforms; the canvas and the frame of an animation.
    let mut scratch = 2 * length + if has(b"VP8 ") { CLAIM } else { 0 };
    for (name, each) in [(b"VP8 ", 2), (b"ALPH", 6), (b"VP8L", 5), (b"ANMF", 8)] {
        scratch += if has(name) { each * pixels } else { 0 };
    }
    let exif = chunk(file, b"EXIF").map(|exif| exif.strip_prefix(b"Exif\0\0").unwrap_or(exif));
    let channels = if alpha { Channels::Rgba } else { Channels::Rgb };
    Some(Header {
        format: InputFormat::WebP,
        width,
        height,
        orientation: exif.map_or(Orientation::NoTransforms, exif::orientation),
        channels,
        decoding: scratch + channels.size(width, height),
    })
}

/// What the decoder will hold to read the codes of lossless pixels. It has no limit of its own.
fn tables(file: &[u8], header: &Header) -> Option<u64> {
    let (kind, body) = chunks(file.get(12..)?).next()?;
    let animated = kind == b"VP8X" && body.first()? & ANIMATION != 0;
    let (width, height) = match chunk(file, b"ANMF") {
        Some(frame) if animated => sides_at(frame, 6)?,
        None if !animated => (header.width, header.height),
        // The decoder would mix a frame with the picture beside it, or miss it.
        _ => return None,
    };
    // As the decoder does, the first of each name: reading all that a file can hold would take seconds.
    let first = |name: &[u8; 4]| match animated {
        true => first_frame(file).find(|(kind, _)| *kind == name).map(|(_, body)| body),
        false => chunk(file, name),
    };
    let colours = first(b"VP8L").map_or(Some(0), vp8l::tables)?;
    let alpha = first(b"ALPH").map_or(Some(0), |body| vp8l::alpha_tables(body, width, height))?;
    Some(colours + alpha)
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
    let (width, height) = sides_at(body, 4)?;
    Some((width, height, flags & ALPHA != 0))
}

fn sides_at(body: &[u8], at: usize) -> Option<(u32, u32)> {
    let [w0, w1, w2, h0, h1, h2] = bytes_at(body, at)?;
    let side = |b0, b1, b2| u32::from_le_bytes([b0, b1, b2, 0]) + 1;
    Some((side(w0, w1, w2), side(h0, h1, h2)))
}

/// The chunks within the first frame of an animation.
fn first_frame(file: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let frame = chunk(file, b"ANMF").and_then(|body| body.get(16..));
    chunks(frame.unwrap_or_default())
}

fn chunk<'file>(file: &'file [u8], name: &[u8; 4]) -> Option<&'file [u8]> {
    chunks(file.get(12..)?).find(|(kind, _)| *kind == name).map(|(_, body)| body)
}

/// Name and body of every chunk; the last one as far as it is there.
fn chunks(mut rest: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (body, after) = after.split_at_checked(length).unwrap_or((after, &[]));
        // A body of odd length is followed by a byte of padding.
        rest = after.get(length % 2..).unwrap_or_default();
        Some((name, body))
    })
}
