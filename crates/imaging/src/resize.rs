//! Lanczos resampling.
//!
//! fast_image_resize instantiates each filter per pixel type, image type and precision. Only U8 and U8x4 are
//! instantiated; pixels of two and three channels are resized as planes, which halves that code.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x2, U8x4};
use fast_image_resize::{MulDiv, PixelTrait, ResizeOptions, Resizer};

use crate::error::Error;
use crate::pixels::Pixels;

/// Borrowed samples in rows without padding.
#[derive(Clone, Copy)]
pub(crate) struct ImageView<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) samples: &'a [u8],
}

/// The region to resize, in samples.
pub(crate) struct Crop {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Resizes a region of a plane to this width and height.
pub(crate) fn resize_plane(
    source: ImageView,
    crop: &Crop,
    width: u32,
    height: u32,
) -> Result<Vec<u8>, Error> {
    resize::<U8>(source, crop, width, height)
}

fn resize<P: PixelTrait>(source: ImageView, crop: &Crop, width: u32, height: u32) -> Result<Vec<u8>, Error> {
    let mut resized = vec![0; width as usize * height as usize * size_of::<P>()];
    let source = TypedImageRef::<P>::from_buffer(source.width, source.height, source.samples);
    let target = TypedImage::<P>::from_buffer(width, height, &mut resized);
    let (source, mut target) = (source.map_err(Error::internal)?, target.map_err(Error::internal)?);
    let options = ResizeOptions::new().crop(crop.left, crop.top, crop.width, crop.height).use_alpha(false);
    Resizer::new().resize_typed(&source, &mut target, &options).map_err(Error::internal)?;
    Ok(resized)
}

/// Crops the centre square and resizes it to this side.
pub(crate) fn crop_and_resize(pixels: &Pixels, side: u32) -> Result<Vec<u8>, Error> {
    let Pixels { width, height, .. } = *pixels;
    let short_side = width.min(height);
    let (left, top) = ((width - short_side) / 2, (height - short_side) / 2);
    let channels = pixels.channels.count();
    if short_side == side {
        let first_pixel = |row: usize| row * width as usize + left as usize;
        let rows = (top as usize..).take(side as usize).map(|row| first_pixel(row) * channels);
        let rows: Vec<&[u8]> =
            rows.map(|start| &pixels.bytes[start..start + side as usize * channels]).collect();
        return Ok(rows.concat());
    }
    let source = ImageView { width, height, samples: &pixels.bytes };
    let crop = Crop {
        left: f64::from(left),
        top: f64::from(top),
        width: f64::from(short_side),
        height: f64::from(short_side),
    };
    match channels {
        1 => resize::<U8>(source, &crop, side, side),
        2 => resize_interleaved::<2>(source, (left, top, short_side), side),
        3 => resize_interleaved::<3>(source, (left, top, short_side), side),
        _ => resize::<U8x4>(source, &crop, side, side),
    }
}

/// Resizes vertically first, then horizontally. The vertical filter does not mix columns, so the interleaved
/// channels pass through it as one plane.
fn resize_interleaved<const CHANNELS: usize>(
    source: ImageView,
    (left, top, short_side): (u32, u32, u32),
    side: u32,
) -> Result<Vec<u8>, Error> {
    let ImageView { width, height, samples } = source;
    let channels = CHANNELS as u32;
    // The horizontal filter reads up to three output pixels beyond the square.
    let margin = (3 * short_side).div_ceil(side).max(3) + 1;
    let first = left.saturating_sub(margin);
    let columns = (left + short_side + margin).min(width) - first;

    let interleaved = ImageView { width: width * channels, height, samples };
    let crop = Crop {
        left: f64::from(first * channels),
        top: f64::from(top),
        width: f64::from(columns * channels),
        height: f64::from(short_side),
    };
    let strip = resize_plane(interleaved, &crop, columns * channels, side)?;

    let crop = Crop {
        left: f64::from(left - first),
        top: 0.0,
        width: f64::from(short_side),
        height: f64::from(side),
    };
    let (strip, _) = strip.as_chunks::<CHANNELS>();
    let mut square = vec![[0; CHANNELS]; side as usize * side as usize];
    for channel in 0..CHANNELS {
        let samples: Vec<u8> = strip.iter().map(|pixel| pixel[channel]).collect();
        let samples =
            resize_plane(ImageView { width: columns, height: side, samples: &samples }, &crop, side, side)?;
        for (pixel, sample) in square.iter_mut().zip(samples) {
            pixel[channel] = sample;
        }
    }
    Ok(square.into_flattened())
}

/// Premultiplies colour by alpha in place, so transparent pixels do not bleed into their neighbours.
pub(crate) fn premultiply_alpha(pixels: &mut Pixels) -> Result<(), Error> {
    let multiplied = match pixels.channels.count() {
        2 => MulDiv::new().multiply_alpha_inplace_typed(&mut typed_image::<U8x2>(pixels)?),
        _ => MulDiv::new().multiply_alpha_inplace_typed(&mut typed_image::<U8x4>(pixels)?),
    };
    multiplied.map_err(Error::internal)
}

pub(crate) fn unpremultiply_alpha(pixels: &mut Pixels) -> Result<(), Error> {
    let divided = match pixels.channels.count() {
        2 => MulDiv::new().divide_alpha_inplace_typed(&mut typed_image::<U8x2>(pixels)?),
        _ => MulDiv::new().divide_alpha_inplace_typed(&mut typed_image::<U8x4>(pixels)?),
    };
    divided.map_err(Error::internal)
}

fn typed_image<P: PixelTrait>(pixels: &mut Pixels) -> Result<TypedImage<'_, P>, Error> {
    TypedImage::from_buffer(pixels.width, pixels.height, &mut pixels.bytes).map_err(Error::internal)
}
