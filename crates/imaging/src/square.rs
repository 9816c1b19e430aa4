//! The centre square of a picture, and its smaller or larger versions.

use crate::error::Error;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::resize;

/// A square in sRGB.
#[derive(Debug)]
pub(crate) enum Square {
    /// Opaque and of an even side: colour at half the side of brightness.
    Planes(Planes),
    /// RGB, or RGBA where some of it is transparent.
    Pixels(Pixels),
}

impl Square {
    /// From square pixels in RGB. An alpha channel that hides nothing is dropped.
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

    /// The centre square of planes that need no change of colours.
    pub(crate) fn from_planes(planes: &Planes, side: u32) -> Result<Self, Error> {
        match side.is_multiple_of(2) {
            true => planes.square(side).map(Self::Planes),
            false => Ok(Self::Pixels(planes.square_pixels(side)?.into_rgb())),
        }
    }

    pub(crate) fn side(&self) -> u32 {
        match self {
            Self::Planes(planes) => planes.width,
            Self::Pixels(pixels) => pixels.width,
        }
    }

    /// Consumes the square: whoever goes down the pyramid has no more use for the step above.
    pub(crate) fn resized(self, side: u32) -> Result<Self, Error> {
        match self {
            square if square.side() == side => Ok(square),
            Self::Planes(planes) => Self::from_planes(&planes, side),
            Self::Pixels(pixels) => centre(pixels, side).map(Self::Pixels),
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

    /// The same square on white paper.
    pub(crate) fn on_white(self) -> Self {
        let over = |colour: u8, alpha: u8| {
            let (colour, alpha) = (u32::from(colour), u32::from(alpha));
            // Never above 255: a mean of two bytes.
            ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
        };
        match self {
            Self::Pixels(pixels) if pixels.channels == Channels::Rgba => {
                let bytes = rgba(&pixels).iter();
                let bytes = bytes.flat_map(|[rgb @ .., alpha]| rgb.map(|colour| over(colour, *alpha)));
                let bytes = bytes.collect();
                Self::Pixels(Pixels { channels: Channels::Rgb, bytes, ..pixels })
            }
            opaque => opaque,
        }
    }

    /// As RGB or RGBA pixels.
    pub(crate) fn into_pixels(self) -> Result<Pixels, Error> {
        match self {
            Self::Planes(planes) => Ok(planes.square_pixels(planes.width)?.into_rgb()),
            Self::Pixels(pixels) => Ok(pixels),
        }
    }
}

/// The pixels of a picture with alpha.
fn rgba(pixels: &Pixels) -> &[[u8; 4]] {
    pixels.bytes.as_chunks().0
}

/// Cuts the centre square out of the pixels and brings it to the side asked for. The cut is a view, and
/// transparent colours are weighted in place, so that a large picture is never in memory twice.
pub(crate) fn centre(mut pixels: Pixels, side: u32) -> Result<Pixels, Error> {
    let Pixels { width, height, channels, .. } = pixels;
    // A cut without resizing must not lose colour to the weighting.
    let weigh = channels.has_alpha() && width.min(height) != side;
    if weigh {
        resize::multiply_alpha(&mut pixels)?;
    }
    let bytes = resize::centre(&pixels, side)?;
    let mut square = Pixels { width: side, height: side, channels, bytes };
    if weigh {
        resize::divide_alpha(&mut square)?;
    }
    Ok(square)
}
