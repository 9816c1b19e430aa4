//! Lanczos resampling.
//!
//! fast_image_resize instantiates each filter per pixel type, image type and precision. Only U8 and U8x4 are
//! instantiated; pixels of two and three channels are resized as planes, which halves that code.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x2, U8x4};
use fast_image_resize::{MulDiv, PixelTrait, ResizeOptions, Resizer};

use crate::error::Error;
use crate::pixels::Pixels;
use crate::region::Region;

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

/// Resizes a region to this width and height.
pub(crate) fn crop_and_resize(
    pixels: &Pixels,
    region: Region,
    (width, height): (u32, u32),
) -> Result<Vec<u8>, Error> {
    let channels = pixels.channels.count();
    if region.size() == (width, height) {
        let first_pixel = |row: usize| row * pixels.width as usize + region.left as usize;
        let rows = (region.top as usize..).take(height as usize).map(|row| first_pixel(row) * channels);
        let rows: Vec<&[u8]> =
            rows.map(|start| &pixels.bytes[start..start + width as usize * channels]).collect();
        return Ok(rows.concat());
    }
    let source = ImageView { width: pixels.width, height: pixels.height, samples: &pixels.bytes };
    let crop = Crop {
        left: f64::from(region.left),
        top: f64::from(region.top),
        width: f64::from(region.width),
        height: f64::from(region.height),
    };
    match channels {
        1 => resize::<U8>(source, &crop, width, height),
        2 => resize_interleaved::<2>(source, region, (width, height)),
        3 => resize_interleaved::<3>(source, region, (width, height)),
        _ => resize::<U8x4>(source, &crop, width, height),
    }
}

/// Resizes vertically first, then horizontally. The vertical filter does not mix columns, so the interleaved
/// channels pass through it as one plane.
fn resize_interleaved<const CHANNELS: usize>(
    source: ImageView,
    region: Region,
    (out_width, out_height): (u32, u32),
) -> Result<Vec<u8>, Error> {
    let ImageView { width, height, samples } = source;
    let channels = CHANNELS as u32;
    // The horizontal filter reads up to three output pixels beyond the region.
    let margin = (3 * region.width).div_ceil(out_width).max(3) + 1;
    let first = region.left.saturating_sub(margin);
    let columns = (region.left + region.width + margin).min(width) - first;

    let interleaved = ImageView { width: width * channels, height, samples };
    let crop = Crop {
        left: f64::from(first * channels),
        top: f64::from(region.top),
        width: f64::from(columns * channels),
        height: f64::from(region.height),
    };
    let strip = resize_plane(interleaved, &crop, columns * channels, out_height)?;

    let crop = Crop {
        left: f64::from(region.left - first),
        top: 0.0,
        width: f64::from(region.width),
        height: f64::from(out_height),
    };
    let (strip, _) = strip.as_chunks::<CHANNELS>();
    let mut resized = vec![[0; CHANNELS]; out_width as usize * out_height as usize];
    for channel in 0..CHANNELS {
        let samples: Vec<u8> = strip.iter().map(|pixel| pixel[channel]).collect();
        let view = ImageView { width: columns, height: out_height, samples: &samples };
        let samples = resize_plane(view, &crop, out_width, out_height)?;
        for (pixel, sample) in resized.iter_mut().zip(samples) {
            pixel[channel] = sample;
        }
    }
    Ok(resized.into_flattened())
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
