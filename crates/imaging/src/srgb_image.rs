//! An upright image in sRGB, ready to be encoded: resizing, orientation and flattening.

use crate::error::Error;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::region::{Region, View};
use crate::resize;

#[derive(Debug)]
pub(crate) enum SrgbImage {
    /// Opaque, in 4:2:0.
    Planes(Planes),
    /// RGB, or RGBA if any pixel is transparent.
    Pixels(Pixels),
}

/// Below this, an odd width or height is resized as pixels: the half chroma sample at its edge would show.
const MIN_ODD_PLANE: u32 = 64;

impl SrgbImage {
    /// A fully opaque alpha channel is dropped.
    pub(crate) fn from_pixels(mut pixels: Pixels) -> Self {
        let is_opaque = |pixels: &Pixels| rgba(pixels).iter().all(|[.., alpha]| *alpha == 255);
        if pixels.channels == Channels::Rgba && is_opaque(&pixels) {
            pixels.bytes = rgba(&pixels).iter().flat_map(|[rgb @ .., _]| *rgb).collect();
            pixels.channels = Channels::Rgb;
        }
        match pixels.channels {
            Channels::Rgb if is_even(pixels.width) && is_even(pixels.height) => {
                Self::Planes(Planes::from_pixels(&pixels))
            }
            _ => Self::Pixels(pixels.into_rgb()),
        }
    }

    /// Resizes a region of planes that are sRGB already.
    pub(crate) fn from_planes(planes: &Planes, view: View) -> Result<Self, Error> {
        let View { region, size } = view;
        let (width, height) = size;
        // An odd square is resized as pixels: the bytes of existing images must not change.
        let keeps_planes = |side: u32| is_even(side) || (width != height && side >= MIN_ODD_PLANE);
        match keeps_planes(width) && keeps_planes(height) {
            true => planes.resized(region, size).map(Self::Planes),
            false => Ok(Self::Pixels(planes.resized_pixels(region, size)?.into_rgb())),
        }
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        match self {
            Self::Planes(planes) => (planes.width, planes.height),
            Self::Pixels(pixels) => (pixels.width, pixels.height),
        }
    }

    /// Consumes the image, so only one level of the pyramid is in memory.
    pub(crate) fn resized(self, size: (u32, u32)) -> Result<Self, Error> {
        let (width, height) = self.size();
        let whole = Region::whole(width, height);
        match self {
            image if image.size() == size => Ok(image),
            Self::Planes(planes) => Self::from_planes(&planes, View { region: whole, size }),
            Self::Pixels(pixels) => {
                ResizeSource::new(pixels).resized(View { region: whole, size }).map(Self::Pixels)
            }
        }
    }

    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        match self {
            Self::Planes(planes) => Self::Planes(planes.oriented(orientation)),
            Self::Pixels(pixels) => {
                let (width, height) = orientation.apply_to_size((pixels.width, pixels.height));
                let bytes = match pixels.channels {
                    Channels::Rgba => orient::<4>(pixels.bytes, pixels.width, orientation),
                    _ => orient::<3>(pixels.bytes, pixels.width, orientation),
                };
                Self::Pixels(Pixels { width, height, bytes, ..pixels })
            }
        }
    }

    /// Composites the image over white and drops its alpha.
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
            Self::Planes(planes) => {
                let size = (planes.width, planes.height);
                Ok(planes.resized_pixels(Region::whole(size.0, size.1), size)?.into_rgb())
            }
            Self::Pixels(pixels) => Ok(pixels),
        }
    }
}

pub(crate) fn is_even(side: u32) -> bool {
    side.is_multiple_of(2)
}

/// The pixels of an RGBA image.
fn rgba(pixels: &Pixels) -> &[[u8; 4]] {
    pixels.bytes.as_chunks().0
}

/// Decoded pixels whose regions are resized. A region is a view and alpha is premultiplied in place, so a
/// large image is never in memory twice.
pub(crate) struct ResizeSource {
    pixels: Pixels,
    is_premultiplied: bool,
}

impl ResizeSource {
    pub(crate) fn new(pixels: Pixels) -> Self {
        Self { pixels, is_premultiplied: false }
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        (self.pixels.width, self.pixels.height)
    }

    /// Regions that are only cropped should come first: premultiplication loses colour precision.
    pub(crate) fn resized(&mut self, View { region, size }: View) -> Result<Pixels, Error> {
        let channels = self.pixels.channels;
        if channels.has_alpha() && region.size() != size && !self.is_premultiplied {
            resize::premultiply_alpha(&mut self.pixels)?;
            self.is_premultiplied = true;
        }
        let bytes = resize::crop_and_resize(&self.pixels, region, size)?;
        let mut resized = Pixels { width: size.0, height: size.1, channels, bytes };
        if self.is_premultiplied {
            resize::unpremultiply_alpha(&mut resized)?;
        }
        Ok(resized)
    }
}
