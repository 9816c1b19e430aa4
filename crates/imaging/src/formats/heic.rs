//! HEIC: HEVC coded images in a HEIF container, decoded tile by tile with heic-decoder.
//!
//! The crate's file API holds all tiles at once (ten bytes per pixel) and starts a thread per core. Only its
//! decoder for a single coded image is used.

mod parameter_sets;

use heic_decoder::decode_one_image;
use heic_decoder::hevc::ctu;
use heic_decoder::isobmff::ResolvedImage;

use self::parameter_sets::{ParameterSets, decode_error};
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
    let output = channels.byte_len(width, height);
    // With a single tile, the output is allocated only after the decoder has freed more than its size.
    let output_during_decode = if heif.colour.is_single() { 0 } else { output };
    let mut peak = ParameterSets::read(&heif.colour)?.decode_memory() + output_during_decode;
    if let Some(alpha) = &heif.alpha {
        peak = peak.max(ParameterSets::read(alpha)?.decode_memory() + output);
    }
    Ok(Header {
        format: InputFormat::Heic,
        width,
        height,
        orientation: heif.orientation,
        channels,
        // The compressed tile three times: decoder input, NAL units, and payloads without emulation
        // prevention.
        decode_memory: peak + heif.tile_copies_memory(3) + FIXED_BYTES,
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<DecodedImage, Error> {
    let heif = Heif::read(file)?;
    let aperture = (heif.aperture.width, heif.aperture.height);
    if aperture != (header.width, header.height) || heif.alpha.is_some() != header.channels.has_alpha() {
        return Err(header_mismatch());
    }
    let parameters = ParameterSets::read(&heif.colour)?;
    // The `nclx` colour box of the container overrides the VUI of the HEVC bitstream.
    let nclx = heif.nclx.unwrap_or_else(|| parameters.nclx());
    let mut bytes = Vec::new();
    for_each_tile(&heif, &heif.colour, &parameters, |tile, origin| {
        if bytes.is_empty() {
            bytes = header.buffer()?;
        }
        canvas(&mut bytes, header).write_rgb(tile, origin, &nclx)
    })?;
    if let Some(alpha) = &heif.alpha {
        let parameters = ParameterSets::read(alpha)?;
        let full_range = parameters.nclx().full_range;
        for_each_tile(&heif, alpha, &parameters, |tile, origin| {
            canvas(&mut bytes, header).write_alpha(tile, origin, full_range)
        })?;
        if heif.premultiplied {
            canvas(&mut bytes, header).unpremultiply();
        }
    }
    Ok(header.decoded_image(bytes, heif.colour_space(nclx)))
}

fn canvas<'a>(bytes: &'a mut [u8], header: &Header) -> Canvas<'a> {
    Canvas { bytes, width: header.width as usize, channels: header.channels.count() }
}

/// Decoder memory that does not depend on the image size.
const FIXED_BYTES: u64 = 1 << 20;

/// Decodes the tiles one by one, so at most one is in memory.
fn for_each_tile(
    heif: &Heif,
    item: &ImageItem,
    parameters: &ParameterSets,
    mut write: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
) -> Result<(), Error> {
    for tile in heif.tiles(item) {
        let (data, x, y) = tile?;
        parameters.check_tile(&data)?;
        let image = ResolvedImage { hevc_config: parameters.config.clone(), data: data.into_owned() };
        let (_, decoded) = decode_one_image(&image).map_err(decode_error)?;
        drop(image);
        with_planes(decoded, item, parameters, |tile| write(tile, (x, y)))?;
    }
    Ok(())
}

/// Passes the planes of a decoded tile to a function, cropped to the conformance window.
fn with_planes(
    decoded: ctu::Picture,
    item: &ImageItem,
    parameters: &ParameterSets,
    use_tile: impl FnOnce(&Tile) -> Result<(), Error>,
) -> Result<(), Error> {
    let (subsampled_x, subsampled_y) = parameters.subsampled();
    let (left, top) = parameters.window_origin();
    let scaled = |offset: usize, subsampled: bool| if subsampled { offset / 2 } else { offset };
    let strides = (decoded.y.width, decoded.cb.width);
    let [luma, cb, cr] = [decoded.y, decoded.cb, decoded.cr].map(ctu::Plane::into_samples);
    let chroma = |samples| plane(samples, strides.1, scaled(left, subsampled_x), scaled(top, subsampled_y));
    use_tile(&Tile {
        width: item.tile_width as usize,
        height: item.tile_height as usize,
        bit_depth: parameters.bit_depth(),
        luma: plane(&luma, strides.0, left, top),
        chroma: (!cb.is_empty()).then(|| [chroma(&cb), chroma(&cr)]),
        subsampled: (subsampled_x, subsampled_y),
    })
}

fn plane(samples: &[i32], stride: usize, left: usize, top: usize) -> PlaneView<'_> {
    let cropped = samples.get(top * stride + left..).unwrap_or_default();
    PlaneView { samples: Samples::I32(cropped), stride }
}
