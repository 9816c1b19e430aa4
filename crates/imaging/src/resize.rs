//! Resizing by a Lanczos filter.
//!
//! fast_image_resize compiles every filter for each type of pixel, image and precision. Planes and RGBA have
//! theirs; pixels of two and three channels go through as planes, which takes half of that code away.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x2, U8x4};
use fast_image_resize::{MulDiv, PixelTrait, ResizeOptions, Resizer};

use crate::error::Error;
use crate::pixels::Pixels;

/// Samples in rows without gaps.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) samples: &'a [u8],
}

/// The part that is resized, in samples.
pub(crate) struct Crop {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A part of a plane, brought to this width and height.
pub(crate) fn plane(source: Source, crop: &Crop, width: u32, height: u32) -> Result<Vec<u8>, Error> {
    resize::<U8>(source, crop, width, height)
}

fn resize<P: PixelTrait>(source: Source, crop: &Crop, width: u32, height: u32) -> Result<Vec<u8>, Error> {
    let mut resized = vec![0; width as usize * height as usize * size_of::<P>()];
    let source = TypedImageRef::<P>::from_buffer(source.width, source.height, source.samples);
    let target = TypedImage::<P>::from_buffer(width, height, &mut resized);
    let (source, mut target) = (source.map_err(Error::internal)?, target.map_err(Error::internal)?);
    let options = ResizeOptions::new().crop(crop.left, crop.top, crop.width, crop.height).use_alpha(false);
    Resizer::new().resize_typed(&source, &mut target, &options).map_err(Error::internal)?;
    Ok(resized)
}

/// The centre square of a picture, brought to this side.
pub(crate) fn centre(pixels: &Pixels, side: u32) -> Result<Vec<u8>, Error> {
    let Pixels { width, height, .. } = *pixels;
    let short = width.min(height);
    let (left, top) = ((width - short) / 2, (height - short) / 2);
    let channels = pixels.channels.count();
    if short == side {
        let row = |row: usize| row * width as usize + left as usize;
        let rows = (top as usize..).take(side as usize).map(|at| row(at) * channels);
        let rows: Vec<&[u8]> = rows.map(|at| &pixels.bytes[at..at + side as usize * channels]).collect();
        return Ok(rows.concat());
    }
    let source = Source { width, height, samples: &pixels.bytes };
    let crop = Crop {
        left: f64::from(left),
        top: f64::from(top),
        width: f64::from(short),
        height: f64::from(short),
    };
    match channels {
        1 => resize::<U8>(source, &crop, side, side),
        2 => interleaved::<2>(pixels, side),
        3 => interleaved::<3>(pixels, side),
        _ => resize::<U8x4>(source, &crop, side, side),
    }
}

/// First all rows, then all columns: the filter of the first step does not look to the sides, so the samples
/// of all channels pass it as one plane.
fn interleaved<const CHANNELS: usize>(pixels: &Pixels, side: u32) -> Result<Vec<u8>, Error> {
    let Pixels { width, height, .. } = *pixels;
    let channels = CHANNELS as u32;
    let short = width.min(height);
    let (left, top) = ((width - short) / 2, (height - short) / 2);
    // The filter of the second step reaches three pixels of the result beyond the square.
    let reach = (3 * short).div_ceil(side).max(3) + 1;
    let first = left.saturating_sub(reach);
    let columns = (left + short + reach).min(width) - first;

    let rows = Source { width: width * channels, height, samples: &pixels.bytes };
    let crop = Crop {
        left: f64::from(first * channels),
        top: f64::from(top),
        width: f64::from(columns * channels),
        height: f64::from(short),
    };
    let strip = plane(rows, &crop, columns * channels, side)?;

    let crop =
        Crop { left: f64::from(left - first), top: 0.0, width: f64::from(short), height: f64::from(side) };
    let (strip, _) = strip.as_chunks::<CHANNELS>();
    let mut square = vec![[0; CHANNELS]; side as usize * side as usize];
    for channel in 0..CHANNELS {
        let samples: Vec<u8> = strip.iter().map(|pixel| pixel[channel]).collect();
        let samples = plane(Source { width: columns, height: side, samples: &samples }, &crop, side, side)?;
        for (pixel, sample) in square.iter_mut().zip(samples) {
            pixel[channel] = sample;
        }
    }
    Ok(square.into_flattened())
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
