//! Decodes a HEIF image, tile by tile and layer by layer, for AVIF and HEIC alike.

use super::image_item::ImageItem;
use super::overlay::composite;
use super::transform::CleanAperture;
use super::ycbcr::{Canvas, Nclx, Tile};
use super::{Heif, Layer};
use crate::decoded_image::{ColourSpace, DecodedImage, Header, Raster, header_mismatch};
use crate::error::Error;
use crate::gamut::Gamut;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::tone_map::{self, ToneMap};

/// The codec of the tiles.
pub(crate) trait TileDecoder {
    const FORMAT: InputFormat;
    /// How often the compressed data of a tile is in memory, besides the file.
    const DATA_COPIES: u64;
    /// Whether a decoded tile takes at least as much memory less than its decoder as its RGB pixels take.
    const SHRINKS_AFTER_DECODE: bool;

    /// Parses the headers of an image.
    fn info(heif: &Heif, item: &ImageItem) -> Result<CodedInfo, Error>;

    /// Decodes the tiles one by one, so at most one is in memory.
    fn for_each_tile(
        heif: &Heif,
        item: &ImageItem,
        write: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// What the headers of a coded image say.
pub(crate) struct CodedInfo {
    /// The largest frame.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) monochrome: bool,
    pub(crate) nclx: Nclx,
    /// Memory to decode one tile.
    pub(crate) decode_memory: u64,
}

/// Memory that does not depend on the image size.
const FIXED_BYTES: u64 = 1 << 20;

pub(crate) fn header<D: TileDecoder>(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let heif = Heif::read(file)?;
    let CleanAperture { width, height, .. } = heif.transform.aperture;
    limits.check(width, height)?;
    // A crop may hide most of an image, and an overlay may have layers larger than its canvas: their pixels
    // are decoded too.
    let mut pixels = 0;
    let mut layer_memory = 0;
    for layer in &heif.layers {
        let ImageItem { width, height, .. } = layer.colour;
        limits.check(width, height)?;
        pixels += u64::from(width) * u64::from(height);
        layer_memory = layer_memory.max(decode_memory::<D>(&heif, layer, limits)?);
    }
    if let Some(overlay) = &heif.overlay {
        limits.check(overlay.width, overlay.height)?;
        if pixels > limits.max_pixels {
            return Err(Error::Unsupported("a HEIF overlay of this many pixels"));
        }
        layer_memory += overlay.channels().byte_len(width, height);
    }
    let tile_data = D::DATA_COPIES * heif.tile_lengths().max().unwrap_or(0);
    let icc = heif.icc.map_or(0, |icc| icc.len() as u64);
    Ok(Header {
        format: D::FORMAT,
        width,
        height,
        orientation: heif.transform.orientation(),
        channels: channels::<D>(&heif)?,
        decode_memory: layer_memory + tile_data + icc + FIXED_BYTES,
    })
}

/// Peak memory of one layer: its pixels, and a decoder for its colours and then for its alpha.
fn decode_memory<D: TileDecoder>(heif: &Heif, layer: &Layer, limits: &Limits) -> Result<u64, Error> {
    let info = |item| {
        let info = D::info(heif, item)?;
        limits.check(info.width, info.height)?;
        Ok::<_, Error>(info)
    };
    let colour = info(&layer.colour)?;
    let CleanAperture { width, height, .. } = layer.transform.aperture;
    let output = layer_channels(heif, layer, &colour).byte_len(width, height);
    // The output is allocated with the first tile.
    let allocated = if D::SHRINKS_AFTER_DECODE && layer.colour.is_single() { 0 } else { output };
    let mut peak = colour.decode_memory + allocated;
    if let Some(alpha) = &layer.alpha {
        peak = peak.max(info(alpha)?.decode_memory + output);
    }
    // A layer of an overlay is copied to be oriented.
    let is_copied = heif.overlay.is_some() && layer.transform.orientation() != Orientation::NoTransforms;
    Ok(peak.max(if is_copied { 2 * output } else { output }))
}

fn channels<D: TileDecoder>(heif: &Heif) -> Result<Channels, Error> {
    match (&heif.overlay, &heif.layers[..]) {
        (None, [layer]) => Ok(layer_channels(heif, layer, &D::info(heif, &layer.colour)?)),
        (Some(overlay), _) => Ok(overlay.channels()),
        (None, _) => Err(header_mismatch()),
    }
}

/// Monochrome images stay grey, because their ICC profile may be one for grey.
fn layer_channels(heif: &Heif, layer: &Layer, info: &CodedInfo) -> Channels {
    let is_grey = info.monochrome && heif.overlay.is_none() && !layer_nclx(layer, info).is_hdr();
    match (is_grey, layer.alpha.is_some()) {
        (true, false) => Channels::Grey,
        (true, true) => Channels::GreyAlpha,
        (false, false) => Channels::Rgb,
        (false, true) => Channels::Rgba,
    }
}

/// The `nclx` colour box of the container overrides the colour description of the bitstream.
fn layer_nclx(layer: &Layer, info: &CodedInfo) -> Nclx {
    layer.nclx.unwrap_or(info.nclx)
}

pub(crate) fn decode<D: TileDecoder>(file: &[u8], header: &Header) -> Result<DecodedImage, Error> {
    let heif = Heif::read(file)?;
    let CleanAperture { left, top, width, height } = heif.transform.aperture;
    let channels = channels::<D>(&heif)?;
    if (width, height, channels) != (header.width, header.height, header.channels) {
        return Err(header_mismatch());
    }
    let lowest = heif.layers.first().ok_or_else(header_mismatch)?;
    let nclx = layer_nclx(lowest, &D::info(&heif, &lowest.colour)?);
    let pixels = match &heif.overlay {
        None => decode_layer::<D>(&heif, lowest)?,
        Some(overlay) => {
            let mut canvas = Pixels { width, height, channels, bytes: header.buffer()? };
            overlay.fill(&mut canvas);
            for (layer, position) in heif.layers.iter().zip(&overlay.positions) {
                let image = oriented(decode_layer::<D>(&heif, layer)?, layer.transform.orientation());
                composite(&mut canvas, &image, (position.0 - i64::from(left), position.1 - i64::from(top)));
            }
            canvas
        }
    };
    Ok(DecodedImage { raster: Raster::Pixels(pixels), colour_space: colour_space(&heif, nclx) })
}

/// An ICC profile takes precedence over `nclx`. HDR is tone-mapped while it is decoded.
fn colour_space(heif: &Heif, nclx: Nclx) -> ColourSpace {
    match (heif.icc, u8::try_from(nclx.primaries), u8::try_from(nclx.transfer)) {
        _ if nclx.is_hdr() => match tone_map::gamut(nclx.primaries) {
            Gamut::Srgb => ColourSpace::Srgb,
            Gamut::DisplayP3 => ColourSpace::DISPLAY_P3,
        },
        (Some(icc), ..) => ColourSpace::Icc(icc.to_vec()),
        (None, Ok(primaries), Ok(transfer)) => ColourSpace::Cicp { primaries, transfer },
        _ => ColourSpace::Srgb,
    }
}

/// Decodes one image and crops it, without orienting it.
fn decode_layer<D: TileDecoder>(heif: &Heif, layer: &Layer) -> Result<Pixels, Error> {
    let info = D::info(heif, &layer.colour)?;
    let nclx = layer_nclx(layer, &info);
    let tone_map = ToneMap::new(nclx.primaries, nclx.transfer, heif.max_light_level);
    let channels = layer_channels(heif, layer, &info);
    let CleanAperture { left, top, width, height } = layer.transform.aperture;
    let origin = |(x, y): (i64, i64)| (x - i64::from(left), y - i64::from(top));
    let length = usize::try_from(channels.byte_len(width, height)).map_err(Error::internal)?;
    let mut bytes = Vec::new();
    D::for_each_tile(heif, &layer.colour, |tile, position| {
        if bytes.is_empty() {
            bytes = vec![0; length];
        }
        canvas(&mut bytes, width, channels).write_colours(tile, origin(position), &nclx, tone_map.as_ref())
    })?;
    if let Some(alpha) = &layer.alpha {
        let full_range = D::info(heif, alpha)?.nclx.full_range;
        D::for_each_tile(heif, alpha, |tile, position| {
            canvas(&mut bytes, width, channels).write_alpha(tile, origin(position), full_range)
        })?;
        if layer.premultiplied {
            canvas(&mut bytes, width, channels).unpremultiply();
        }
    }
    Ok(Pixels { width, height, channels, bytes })
}

fn canvas(bytes: &mut [u8], width: u32, channels: Channels) -> Canvas<'_> {
    Canvas { bytes, width: width as usize, channels: channels.count() }
}

/// Orients an RGB or RGBA layer.
fn oriented(pixels: Pixels, orientation: Orientation) -> Pixels {
    let (width, height) = orientation.apply_to_size((pixels.width, pixels.height));
    let bytes = match pixels.channels {
        Channels::Rgba => orient::<4>(pixels.bytes, pixels.width, orientation),
        _ => orient::<3>(pixels.bytes, pixels.width, orientation),
    };
    Pixels { width, height, bytes, ..pixels }
}
