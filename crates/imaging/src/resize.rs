//! Resizing by a Lanczos filter.
//!
//! Only the typed interface of fast_image_resize is used, with one type of source and one of destination. The
//! untyped one would compile every filter for thirteen kinds of pixels and each pair of image types.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x2, U8x3, U8x4};
use fast_image_resize::{MulDiv, PixelTrait, ResizeOptions, Resizer};

use crate::error::Error;
use crate::pixels::Pixels;

/// Pixels of one to four bytes, in rows without gaps.
pub(crate) struct Source<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: usize,
    pub(crate) bytes: &'a [u8],
}

/// The part that is resized, in pixels.
pub(crate) struct Crop {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A part of a picture as a square of this side.
pub(crate) fn resize(source: &Source, crop: &Crop, side: u32) -> Result<Vec<u8>, Error> {
    let mut square = vec![0; side as usize * side as usize * source.channels];
    match source.channels {
        1 => resize_typed::<U8>(source, crop, &mut square, side)?,
        2 => resize_typed::<U8x2>(source, crop, &mut square, side)?,
        3 => resize_typed::<U8x3>(source, crop, &mut square, side)?,
        4 => resize_typed::<U8x4>(source, crop, &mut square, side)?,
        channels => return Err(Error::internal(format!("pixels of {channels} bytes"))),
    }
    Ok(square)
}

fn resize_typed<P: PixelTrait>(
    source: &Source,
    crop: &Crop,
    square: &mut [u8],
    side: u32,
) -> Result<(), Error> {
    let source = TypedImageRef::<P>::from_buffer(source.width, source.height, source.bytes);
    let square = TypedImage::<P>::from_buffer(side, side, square);
    let (source, mut square) = (source.map_err(Error::internal)?, square.map_err(Error::internal)?);
    let options = ResizeOptions::new().crop(crop.left, crop.top, crop.width, crop.height).use_alpha(false);
    Resizer::new().resize_typed(&source, &mut square, &options).map_err(Error::internal)
}

/// Multiplies the colours by the opacity, in place: transparent pixels must not colour their neighbours.
pub(crate) fn multiply_alpha(pixels: &mut Pixels) -> Result<(), Error> {
    let multiplied = match pixels.channels.count() {
        2 => MulDiv::new().multiply_alpha_inplace_typed(&mut typed::<U8x2>(pixels)?),
        _ => MulDiv::new().multiply_alpha_inplace_typed(&mut typed::<U8x4>(pixels)?),
    };
    multiplied.map_err(Error::internal)
}

pub(crate) fn divide_alpha(pixels: &mut Pixels) -> Result<(), Error> {
    let divided = match pixels.channels.count() {
        2 => MulDiv::new().divide_alpha_inplace_typed(&mut typed::<U8x2>(pixels)?),
        _ => MulDiv::new().divide_alpha_inplace_typed(&mut typed::<U8x4>(pixels)?),
    };
    divided.map_err(Error::internal)
}

fn typed<P: PixelTrait>(pixels: &mut Pixels) -> Result<TypedImage<'_, P>, Error> {
    TypedImage::from_buffer(pixels.width, pixels.height, &mut pixels.bytes).map_err(Error::internal)
}
