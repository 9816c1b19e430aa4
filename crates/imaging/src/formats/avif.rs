//! AVIF: AV1 coded images in a HEIF container, decoded tile by tile with rav1d.

mod obu;

use re_rav1d::dav1d::{self, Decoder, PixelLayout, PlanarImageComponent as Component, Settings};

use self::obu::{CodedImage, FrameInfo};
use super::heif::Heif;
use super::heif::decode::{CodedInfo, TileDecoder};
use super::heif::image_item::ImageItem;
use super::heif::ycbcr::{PlaneView, Samples, Tile};
use crate::decoded_image::header_mismatch;
use crate::error::Error;
use crate::input_format::InputFormat;

pub(super) struct Av1;

impl TileDecoder for Av1 {
    const FORMAT: InputFormat = InputFormat::Avif;
    // The decoder takes an owned copy of a tile's data, which may first be joined from several extents.
    const DATA_COPIES: u64 = 2;
    const SHRINKS_AFTER_DECODE: bool = false;

    fn info(heif: &Heif, item: &ImageItem) -> Result<CodedInfo, Error> {
        let first = heif.tiles(item).next().ok_or_else(header_mismatch)??.0;
        let info = parse_tile(item, &first)?.info;
        let FrameInfo { width, height, monochrome, nclx, .. } = info;
        Ok(CodedInfo { width, height, monochrome, nclx, decode_memory: decode_memory(&info) })
    }

    fn for_each_tile(
        heif: &Heif,
        item: &ImageItem,
        mut write: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut first = None;
        for tile in heif.tiles(item) {
            let (data, x, y) = tile?;
            let image = parse_tile(item, &data)?;
            let info = image.info;
            if *first.get_or_insert(info) != info {
                return Err(header_mismatch());
            }
            let selected = image.data();
            drop(data);
            let decoded = decode_tile(selected, &info, item)?;
            with_planes(&decoded, &info, item, |tile| write(tile, (x, y)))?;
        }
        Ok(())
    }
}

/// Decoder memory per AV1 tile of a coded image. Tiles are at least 64 × 64 pixels, at most 64 per axis. The
/// actual count is too deep in the frame header to be parsed here, so the maximum is assumed.
const TILE_STATE_BYTES: u64 = 16 << 10;

/// Memory of rav1d for one coded image: the planes of each frame, again for super-resolution and again for
/// film grain, per-block metadata, and the state of its tiles.
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
    let frames = u64::from(frame.frames);
    let planes = frames + u64::from(frame.superres) + u64::from(frame.film_grain);
    let tiles = |side: u32| u64::from(side).div_ceil(64).min(64);
    let tiles = tiles(frame.width) * tiles(frame.height);
    planes * samples * sample_bytes + pixels * (2 + frames) / 2 + tiles * TILE_STATE_BYTES
}

/// Parses the headers of a tile and checks them against its item.
fn parse_tile<'a>(item: &ImageItem, data: &'a [u8]) -> Result<CodedImage<'a>, Error> {
    if item.kind != *b"av01" {
        return Err(header_mismatch());
    }
    let image = CodedImage::read(data, item.layers);
    let image = image.ok_or(Error::Unsupported("an AVIF image without a key frame of its size"))?;
    let FrameInfo { width, height, frames, .. } = image.info;
    // A layer may be smaller than the largest one.
    let is_layer = frames > 1 || item.layers.layer.is_some();
    let fits = match is_layer {
        true => item.tile_width <= width && item.tile_height <= height,
        false => (item.tile_width, item.tile_height) == (width, height),
    };
    if fits { Ok(image) } else { Err(header_mismatch()) }
}

fn decode_tile(data: Vec<u8>, frame: &FrameInfo, item: &ImageItem) -> Result<dav1d::Picture, Error> {
    let mut settings = Settings::new();
    // With one thread rav1d spawns none and decodes on the calling thread.
    settings.set_n_threads(1);
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_operating_point(item.layers.operating_point.into());
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
    item: &ImageItem,
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
    let matches = (FrameInfo { high_bit_depth, monochrome, subsampled, ..*frame }) == *frame;
    if !matches || (width, height) != (item.tile_width, item.tile_height) {
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
