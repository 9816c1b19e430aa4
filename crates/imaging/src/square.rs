//! The centre square of an image: cropping, resizing, orientation and flattening.

use crate::error::Error;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::resize;

/// A square in sRGB.
#[derive(Debug)]
pub(crate) enum Square {
    /// Opaque, with an even side, in 4:2:0.
    Planes(Planes),
    /// RGB, or RGBA if any pixel is transparent.
    Pixels(Pixels),
}

impl Square {
    /// Takes square pixels. A fully opaque alpha channel is dropped.
    pub(crate) fn from_pixels(mut pixels: Pixels) -> Self {
        let is_opaque = |pixels: &Pixels| rgba(pixels).iter().all(|[.., alpha]| *alpha == 255);
        if pixels.channels == Channels::Rgba && is_opaque(&pixels) {
            pixels.bytes = rgba(&pixels).iter().flat_map(|[rgb @ .., _]| *rgb).collect();
            pixels.channels = Channels::Rgb;
        }
        match pixels.channels {
            Channels::Rgb if pixels.width.is_multiple_of(2) => Self::Planes(Planes::from_square(&pixels)),
            _ => Self::Pixels(pixels.into_rgb()),
        }
    }

    /// Crops the centre square from planes that are sRGB already.
    pub(crate) fn from_planes(planes: &Planes, side: u32) -> Result<Self, Error> {
        match side.is_multiple_of(2) {
            true => planes.centre_square(side).map(Self::Planes),
            false => Ok(Self::Pixels(planes.centre_square_pixels(side)?.into_rgb())),
        }
    }

    pub(crate) fn side(&self) -> u32 {
        match self {
            Self::Planes(planes) => planes.width,
            Self::Pixels(pixels) => pixels.width,
        }
    }

    /// Consumes the square, so only one level of the pyramid is in memory.
    pub(crate) fn resized(self, side: u32) -> Result<Self, Error> {
        match self {
            square if square.side() == side => Ok(square),
            Self::Planes(planes) => Self::from_planes(&planes, side),
            Self::Pixels(pixels) => centre_square(pixels, side).map(Self::Pixels),
        }
    }

    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        match self {
            Self::Planes(planes) => Self::Planes(planes.oriented(orientation)),
            Self::Pixels(pixels) => {
                let side = pixels.width as usize;
                let bytes = match pixels.channels {
                    Channels::Rgba => orient::<4>(pixels.bytes, side, orientation),
                    _ => orient::<3>(pixels.bytes, side, orientation),
                };
                Self::Pixels(Pixels { bytes, ..pixels })
            }
        }
    }

    /// Composites the square over white and drops its alpha.
    pub(crate) fn flatten(self) -> Self {
        let over_white = |colour: u8, alpha: u8| {
            let (colour, alpha) = (u32::from(colour), u32::from(alpha));
            // At most 255: a weighted mean of two bytes.
            ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
        };
        match self {
            Self::Pixels(pixels) if pixels.channels == Channels::Rgba => {
                let bytes = rgba(&pixels).iter();
                let bytes = bytes.flat_map(|[rgb @ .., alpha]| rgb.map(|colour| over_white(colour, *alpha)));
                let bytes = bytes.collect();
                Self::Pixels(Pixels { channels: Channels::Rgb, bytes, ..pixels })
            }
            opaque => opaque,
        }
    }

    /// Converts to RGB or RGBA pixels.
    pub(crate) fn into_pixels(self) -> Result<Pixels, Error> {
        match self {
            Self::Planes(planes) => Ok(planes.centre_square_pixels(planes.width)?.into_rgb()),
            Self::Pixels(pixels) => Ok(pixels),
        }
    }
}

/// The pixels of an RGBA image.
fn rgba(pixels: &Pixels) -> &[[u8; 4]] {
    pixels.bytes.as_chunks().0
}

/// Crops the centre square and resizes it to this side. The crop is a view and alpha is premultiplied in
/// place, so a large image is never in memory twice.
pub(crate) fn centre_square(mut pixels: Pixels, side: u32) -> Result<Pixels, Error> {
    let Pixels { width, height, channels, .. } = pixels;
    // A crop without a resize skips premultiplication, which would lose colour precision.
    let premultiply = channels.has_alpha() && width.min(height) != side;
    if premultiply {
        resize::premultiply_alpha(&mut pixels)?;
    }
    let bytes = resize::crop_and_resize(&pixels, side)?;
    let mut square = Pixels { width: side, height: side, channels, bytes };
    if premultiply {
        resize::unpremultiply_alpha(&mut square)?;
    }
    Ok(square)
}
