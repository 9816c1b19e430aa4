//! The centre square of a picture, and its smaller or larger versions.

use fast_image_resize::images::Image;
use fast_image_resize::{MulDiv, PixelType, ResizeOptions, Resizer};
use image::metadata::Orientation;

use crate::Error;
use crate::orient::orient;
use crate::pixels::{Channels, Pixels};

/// A square in sRGB: three bytes a pixel, or four where some of it is transparent.
pub(crate) struct Square {
    pub(crate) side: u32,
    pub(crate) alpha: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Square {
    /// From square pixels in RGB. An alpha channel that hides nothing is dropped.
    pub(crate) fn new(pixels: Pixels) -> Self {
        let mut square = Self { side: pixels.width, alpha: pixels.channels.has_alpha(), bytes: pixels.bytes };
        if square.alpha && square.rgba().iter().all(|[.., alpha]| *alpha == 255) {
            square.bytes = square.rgba().iter().flat_map(|[rgb @ .., _]| *rgb).collect();
            square.alpha = false;
        }
        square
    }

    /// Consumes the square: whoever goes down the pyramid has no more use for the step above.
    pub(crate) fn resized(self, side: u32) -> Result<Self, Error> {
        if side == self.side {
            return Ok(self);
        }
        let alpha = self.alpha;
        let pixels = Pixels {
            width: self.side,
            height: self.side,
            channels: if alpha { Channels::Rgba } else { Channels::Rgb },
            bytes: self.bytes,
        };
        let bytes = centre(pixels, side)?.bytes;
        Ok(Self { side, alpha, bytes })
    }

    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        let side = self.side as usize;
        let bytes = match self.alpha {
            true => orient::<4>(self.bytes, side, orientation),
            false => orient::<3>(self.bytes, side, orientation),
        };
        Self { bytes, ..self }
    }

    /// The same square on white paper.
    pub(crate) fn on_white(self) -> Self {
        if !self.alpha {
            return self;
        }
        let over = |colour: u8, alpha: u8| {
            let (colour, alpha) = (u32::from(colour), u32::from(alpha));
            // Never above 255: a mean of two bytes.
            ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
        };
        let bytes = self.rgba().iter();
        let bytes = bytes.flat_map(|[rgb @ .., alpha]| rgb.map(|colour| over(colour, *alpha)));
        Self { side: self.side, alpha: false, bytes: bytes.collect() }
    }

    /// The pixels of a square with alpha.
    fn rgba(&self) -> &[[u8; 4]] {
        self.bytes.as_chunks().0
    }
}

/// Cuts the centre square out of the pixels and brings it to the side asked for. The cut is a view, and
/// transparent colours are weighted in place, so that a large picture is never in memory twice.
pub(crate) fn centre(pixels: Pixels, side: u32) -> Result<Pixels, Error> {
    let Pixels { width, height, channels, bytes } = pixels;
    let kind = match channels {
        Channels::Grey => PixelType::U8,
        Channels::GreyAlpha => PixelType::U8x2,
        Channels::Rgb => PixelType::U8x3,
        Channels::Rgba => PixelType::U8x4,
    };
    let short = width.min(height);
    // A cut without resizing must not lose colour to the weighting.
    let weigh = channels.has_alpha() && short != side;

    let mut whole = Image::from_vec_u8(width, height, bytes, kind).map_err(Error::internal)?;
    let mut square = Image::new(side, side, kind);
    if weigh {
        let weighted = MulDiv::new().multiply_alpha_inplace(&mut whole);
        weighted.map_err(Error::internal)?;
    }
    let left = f64::from((width - short) / 2);
    let top = f64::from((height - short) / 2);
    let options = ResizeOptions::new().crop(left, top, f64::from(short), f64::from(short)).use_alpha(false);
    let resized = Resizer::new().resize(&whole, &mut square, &options);
    resized.map_err(Error::internal)?;
    if weigh {
        let divided = MulDiv::new().divide_alpha_inplace(&mut square);
        divided.map_err(Error::internal)?;
    }
    Ok(Pixels { width: side, height: side, channels, bytes: square.into_vec() })
}
