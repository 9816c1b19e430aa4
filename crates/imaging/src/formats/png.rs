//! PNG: parses chunks for the header and decodes with the png crate.

pub(super) mod strip;

use std::io::Cursor;

use png::{ColorType, Decoder, Transformations};

use crate::decoded_image::{ColourSpace, DecodedImage, Header, bytes_at, header_mismatch};
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::exif;
use crate::orient::Orientation;
use crate::pixels::Channels;

/// Decoder memory for ancillary chunks. A larger ICC profile is ignored; real ones have a few kB, large ones
/// 1 MB.
const ANCILLARY_CHUNK_BYTES: u64 = 4 << 20;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let truncated = || Error::damaged("a truncated PNG header");
    let [w3, w2, w1, w0, h3, h2, h1, h0, bit_depth, colour_type] = match chunks(file).next() {
        Some((b"IHDR", body)) => bytes_at(body, 0).ok_or_else(truncated)?,
        _ => return Err(truncated()),
    };
    let width = u32::from_be_bytes([w3, w2, w1, w0]);
    let height = u32::from_be_bytes([h3, h2, h1, h0]);
    limits.check(width, height)?;

    let body_of = |name| chunks(file).find(|(kind, _)| *kind == name).map(|(_, body)| body);
    let has_trns = body_of(b"tRNS").is_some();
    let channels = match (colour_type, has_trns) {
        (0, false) => Channels::Grey,
        (0, true) | (4, _) => Channels::GreyAlpha,
        (2 | 3, false) => Channels::Rgb,
        (2 | 3, true) | (6, _) => Channels::Rgba,
        _ => return Err(Error::damaged("an unknown PNG colour type")),
    };
    let row_bytes = u64::from(width) * channels.count() as u64 * if bit_depth == 16 { 2 } else { 1 };
    Ok(Header {
        format: InputFormat::Png,
        width,
        height,
        orientation: body_of(b"eXIf").map_or(Orientation::NoTransforms, exif::orientation),
        channels,
        decode_memory: channels.byte_len(width, height) + 5 * row_bytes + 2 * ANCILLARY_CHUNK_BYTES,
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<DecodedImage, Error> {
    // The limit of the decoder covers chunks and one row, not the pixels.
    let bytes = usize::try_from(ANCILLARY_CHUNK_BYTES + header.channels.byte_len(header.width, 2))
        .map_err(Error::internal)?;
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), png::Limits { bytes });
    // Text is not used, and compressed text can be a decompression bomb.
    decoder.set_ignore_text_chunk(true);
    // Expands palettes; reduces 16 bits to 8 row by row, so the 16-bit image is never in memory.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);

    let mut reader = decoder.read_info().map_err(Error::damaged)?;
    let channels = match reader.output_color_type().0 {
        ColorType::Grayscale => Channels::Grey,
        ColorType::GrayscaleAlpha => Channels::GreyAlpha,
        ColorType::Rgb => Channels::Rgb,
        ColorType::Rgba => Channels::Rgba,
        ColorType::Indexed => return Err(Error::internal("a palette was not expanded")),
    };
    // A misplaced tRNS chunk was counted by the header reader but is ignored here, so fewer channels are
    // fine.
    if reader.info().size() != (header.width, header.height) || channels.count() > header.channels.count() {
        return Err(header_mismatch());
    }
    let header = Header { channels, ..*header };
    let mut bytes = header.buffer()?;
    reader.next_frame(&mut bytes).map_err(Error::damaged)?;
    let info = reader.info();
    // cICP takes precedence over iCCP.
    let colour_space = match (&info.coding_independent_code_points, &info.icc_profile) {
        (Some(cicp), _) => {
            ColourSpace::Cicp { primaries: cicp.color_primaries, transfer: cicp.transfer_function }
        }
        (None, Some(profile)) => ColourSpace::Icc(profile.to_vec()),
        (None, None) => ColourSpace::Srgb,
    };
    Ok(header.decoded_image(bytes, colour_space))
}

/// Name and body of each complete chunk.
fn chunks(file: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let mut rest = file.get(8..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk()?;
        let (name, after) = after.split_first_chunk()?;
        let (body, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        // The CRC follows the body.
        rest = after.get(4..)?;
        Some((name, body))
    })
}
