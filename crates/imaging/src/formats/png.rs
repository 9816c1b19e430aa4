//! PNG: a walk along its chunks for the header, the png crate for the pixels.

pub(super) mod strip;

use std::io::Cursor;

use png::{ColorType, Decoder, Transformations};

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::exif;
use crate::orient::Orientation;
use crate::picture::{Colours, Header, Picture, bytes_at, other_picture};
use crate::pixels::Channels;

/// What the decoder may spend on chunks besides the pixels. A colour profile that unpacks to more is
/// ignored; real ones have a few kilobytes, large ones a megabyte.
const CHUNKS: u64 = 4 << 20;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let short = || Error::damaged("a short PNG header");
    let [w3, w2, w1, w0, h3, h2, h1, h0, depth, colour] = match chunks(file).next() {
        Some((b"IHDR", body)) => bytes_at(body, 0).ok_or_else(short)?,
        _ => return Err(short()),
    };
    let width = u32::from_be_bytes([w3, w2, w1, w0]);
    let height = u32::from_be_bytes([h3, h2, h1, h0]);
    limits.check(width, height)?;

    let body_of = |name| chunks(file).find(|(kind, _)| *kind == name).map(|(_, body)| body);
    let transparent = body_of(b"tRNS").is_some();
    let channels = match (colour, transparent) {
        (0, false) => Channels::Grey,
        (0, true) | (4, _) => Channels::GreyAlpha,
        (2 | 3, false) => Channels::Rgb,
        (2 | 3, true) | (6, _) => Channels::Rgba,
        _ => return Err(Error::damaged("an unknown PNG colour type")),
    };
    let row = u64::from(width) * channels.count() as u64 * if depth == 16 { 2 } else { 1 };
    Ok(Header {
        format: InputFormat::Png,
        width,
        height,
        orientation: body_of(b"eXIf").map_or(Orientation::NoTransforms, exif::orientation),
        channels,
        decoding: channels.size(width, height) + 5 * row + 2 * CHUNKS,
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<Picture, Error> {
    // The limit covers chunks and one row, not the pixels.
    let bytes = usize::try_from(CHUNKS + header.channels.size(header.width, 2)).map_err(Error::internal)?;
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), png::Limits { bytes });
    // Nobody reads them, and compressed ones can be bombs.
    decoder.set_ignore_text_chunk(true);
    // Palettes become colours; 16 bits become 8 row by row, so that they are never all in memory.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);

    let mut reader = decoder.read_info().map_err(Error::damaged)?;
    let channels = match reader.output_color_type().0 {
        ColorType::Grayscale => Channels::Grey,
        ColorType::GrayscaleAlpha => Channels::GreyAlpha,
        ColorType::Rgb => Channels::Rgb,
        ColorType::Rgba => Channels::Rgba,
        ColorType::Indexed => return Err(Error::internal("a palette was not expanded")),
    };
    // A transparency chunk in the wrong place was counted but is not read: less than announced is fine.
    if reader.info().size() != (header.width, header.height) || channels.count() > header.channels.count() {
        return Err(other_picture());
    }
    let header = Header { channels, ..*header };
    let mut bytes = header.buffer()?;
    reader.next_frame(&mut bytes).map_err(Error::damaged)?;
    let info = reader.info();
    // Where there are both, the numbers are the newer ones.
    let colours = match (&info.coding_independent_code_points, &info.icc_profile) {
        (Some(points), _) => {
            Colours::Cicp { primaries: points.color_primaries, transfer: points.transfer_function }
        }
        (None, Some(profile)) => Colours::Icc(profile.to_vec()),
        (None, None) => Colours::Srgb,
    };
    Ok(header.picture(bytes, colours))
}

/// Name and body of every chunk that is wholly there.
fn chunks(file: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let mut rest = file.get(8..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk()?;
        let (name, after) = after.split_first_chunk()?;
        let (body, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        // Behind the body stands its checksum.
        rest = after.get(4..)?;
        Some((name, body))
    })
}
