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
use super::heif::decode::{CodedInfo, TileDecoder};
use super::heif::image_item::ImageItem;
use super::heif::ycbcr::{PlaneView, Samples, Tile};
use crate::error::Error;
use crate::input_format::InputFormat;

pub(super) struct Hevc;

impl TileDecoder for Hevc {
    const FORMAT: InputFormat = InputFormat::Heic;
    // Decoder input, NAL units, and payloads without emulation prevention.
    const DATA_COPIES: u64 = 3;
    const SHRINKS_AFTER_DECODE: bool = true;

    fn info(_: &Heif, item: &ImageItem) -> Result<CodedInfo, Error> {
        let parameters = ParameterSets::read(item)?;
        Ok(CodedInfo {
            width: item.tile_width,
            height: item.tile_height,
            monochrome: parameters.is_monochrome(),
            nclx: parameters.nclx(),
            decode_memory: parameters.decode_memory(),
        })
    }

    fn for_each_tile(
        heif: &Heif,
        item: &ImageItem,
        mut write: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let parameters = ParameterSets::read(item)?;
        for tile in heif.tiles(item) {
            let (data, x, y) = tile?;
            parameters.check_tile(&data)?;
            let image = ResolvedImage { hevc_config: parameters.config.clone(), data: data.into_owned() };
            let (_, decoded) = decode_one_image(&image).map_err(decode_error)?;
            drop(image);
            with_planes(decoded, item, &parameters, |tile| write(tile, (x, y)))?;
        }
        Ok(())
    }
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
