//! AVIF: AV1 coded images in a HEIF container, decoded tile by tile with rav1d.

mod obu;

use re_rav1d::dav1d::{self, Decoder, PixelLayout, PlanarImageComponent as Component, Settings};

use self::obu::FrameInfo;
use super::heif::Heif;
use super::heif::image_item::ImageItem;
use super::heif::ycbcr::{Canvas, PlaneView, Samples, Tile};
use crate::decoded_image::{DecodedImage, Header, header_mismatch};
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::pixels::Channels;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let heif = Heif::read(file)?;
    let channels = if heif.alpha.is_some() { Channels::Rgba } else { Channels::Rgb };
    let (width, height) = (heif.aperture.width, heif.aperture.height);
    limits.check(width, height)?;
    let mut decoder_memory = 0;
    for item in [Some(&heif.colour), heif.alpha.as_ref()].into_iter().flatten() {
        decoder_memory = decoder_memory.max(decode_memory(&first_tile(&heif, item)?));
    }
    Ok(Header {
        format: InputFormat::Avif,
        width,
        height,
        orientation: heif.orientation,
        channels,
        // The decoder takes an owned copy of a tile's data, which may first be joined from several extents.
        decode_memory: channels.byte_len(width, height)
            + decoder_memory
            + heif.tile_copies_memory(2)
            + FIXED_BYTES,
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<DecodedImage, Error> {
    let heif = Heif::read(file)?;
    let aperture = (heif.aperture.width, heif.aperture.height);
    if aperture != (header.width, header.height) || heif.alpha.is_some() != header.channels.has_alpha() {
        return Err(header_mismatch());
    }
    // The `nclx` colour box of the container overrides the colour description of the AV1 bitstream.
    let nclx = heif.nclx.unwrap_or(first_tile(&heif, &heif.colour)?.nclx);
    let mut bytes = header.buffer()?;
    let mut canvas =
        Canvas { bytes: &mut bytes, width: header.width as usize, channels: header.channels.count() };
    for_each_tile(&heif, &heif.colour, |tile, origin| canvas.write_rgb(tile, origin, &nclx))?;
    if let Some(alpha) = &heif.alpha {
        let full_range = first_tile(&heif, alpha)?.nclx.full_range;
        for_each_tile(&heif, alpha, |tile, origin| canvas.write_alpha(tile, origin, full_range))?;
        if heif.premultiplied {
            canvas.unpremultiply();
        }
    }
    Ok(header.decoded_image(bytes, heif.colour_space(nclx)))
}

/// Decoder memory that does not depend on the image size.
const FIXED_BYTES: u64 = 1 << 20;

/// Decoder memory per AV1 tile of a coded image. Tiles are at least 64 × 64 pixels, at most 64 per axis. The
/// actual count is too deep in the frame header to be parsed here, so the maximum is assumed.
const TILE_STATE_BYTES: u64 = 16 << 10;

/// Memory of rav1d for one coded image: its planes, again for super-resolution and again for film grain,
/// per-block metadata, and the state of its tiles.
fn decode_memory(frame: &FrameInfo) -> u64 {
    let padded = |side: u32| u64::from(side).next_multiple_of(128) + 64;
    let pixels = padded(frame.width) * padded(frame.height);
    let samples = match frame.subsampled {
        _ if frame.monochrome => pixels,
        (true, true) => pixels * 3 / 2,
        (true, false) => pixels * 2,
        _ => pixels * 3,
    };
    let sample_bytes = if frame.high_bit_depth { 2 } else { 1 };
    let planes = 1 + u64::from(frame.superres) + u64::from(frame.film_grain);
    let tiles = |side: u32| u64::from(side).div_ceil(64).min(64);
    let tiles = tiles(frame.width) * tiles(frame.height);
    planes * samples * sample_bytes + pixels * 3 / 2 + tiles * TILE_STATE_BYTES
}

fn first_tile(heif: &Heif, item: &ImageItem) -> Result<FrameInfo, Error> {
    let first = heif.tiles(item).next().ok_or_else(header_mismatch)?;
    parse_tile(item, &first?.0)
}

/// Parses the headers of a tile and checks them against its item.
fn parse_tile(item: &ImageItem, data: &[u8]) -> Result<FrameInfo, Error> {
    if item.kind != *b"av01" {
        return Err(header_mismatch());
    }
    let frame = FrameInfo::read(data).ok_or(Error::Unsupported("a layered AVIF image"))?;
    match (frame.width, frame.height) == (item.tile_width, item.tile_height) {
        true => Ok(frame),
        false => Err(header_mismatch()),
    }
}

/// Decodes the tiles one by one, so at most one is in memory.
fn for_each_tile(
    heif: &Heif,
    item: &ImageItem,
    mut write: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
) -> Result<(), Error> {
    let first = first_tile(heif, item)?;
    for tile in heif.tiles(item) {
        let (data, x, y) = tile?;
        if parse_tile(item, &data)? != first {
            return Err(header_mismatch());
        }
        let decoded = decode_tile(data.into_owned(), &first)?;
        with_planes(&decoded, &first, |tile| write(tile, (x, y)))?;
    }
    Ok(())
}

fn decode_tile(data: Vec<u8>, frame: &FrameInfo) -> Result<dav1d::Picture, Error> {
    let mut settings = Settings::new();
    // With one thread rav1d spawns none and decodes on the calling thread.
    settings.set_n_threads(1);
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_frame_size_limit(frame.width.saturating_mul(frame.height));
    let mut decoder = Decoder::with_settings(&settings).map_err(Error::internal)?;
    let ignore_again = |result: Result<(), dav1d::Error>| match result {
        Err(error) if !error.is_again() => Err(Error::damaged(error)),
        _ => Ok(()),
    };
    ignore_again(decoder.send_data(data, None, None, None))?;
    // The second call flushes the decoder.
    let decoded = match decoder.get_picture() {
        Err(error) if error.is_again() => decoder.get_picture(),
        result => result,
    };
    decoded.map_err(Error::damaged)
}

/// Passes the planes of a decoded tile to a function, after checking them against the parsed headers.
fn with_planes<T>(
    decoded: &dav1d::Picture,
    frame: &FrameInfo,
    use_tile: impl FnOnce(&Tile) -> Result<T, Error>,
) -> Result<T, Error> {
    let (monochrome, subsampled) = match decoded.pixel_layout() {
        PixelLayout::I400 => (true, (true, true)),
        PixelLayout::I420 => (false, (true, true)),
        PixelLayout::I422 => (false, (true, false)),
        PixelLayout::I444 => (false, (false, false)),
    };
    let (width, height, bit_depth) = (decoded.width(), decoded.height(), decoded.bit_depth());
    let high_bit_depth = bit_depth > 8;
    if (FrameInfo { width, height, high_bit_depth, monochrome, subsampled, ..*frame }) != *frame {
        return Err(header_mismatch());
    }
    let luma = decoded.plane(Component::Y);
    // A monochrome image has no chroma planes, and requesting them panics.
    let chroma = (!monochrome).then(|| [decoded.plane(Component::U), decoded.plane(Component::V)]);
    let plane = |bytes, component| {
        // The stride is in bytes.
        let stride = decoded.stride(component) as usize;
        match high_bit_depth {
            true => PlaneView { samples: Samples::U16Bytes(bytes), stride: stride / 2 },
            false => PlaneView { samples: Samples::U8(bytes), stride },
        }
    };
    use_tile(&Tile {
        width: width as usize,
        height: height as usize,
        bit_depth: bit_depth as u32,
        luma: plane(&luma, Component::Y),
        chroma: chroma.as_ref().map(|[u, v]| [plane(u, Component::U), plane(v, Component::V)]),
        subsampled,
    })
}
