//! An upright image of a known gamut, ready to be encoded: resizing, orientation and flattening.

use crate::error::Error;
use crate::gamut::Gamut;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::region::{Region, View};
use crate::resize;

#[derive(Debug)]
pub(crate) struct UprightImage {
    pub(crate) samples: Samples,
    pub(crate) gamut: Gamut,
}

#[derive(Debug)]
pub(crate) enum Samples {
    /// Opaque, in 4:2:0.
    Planes(Planes),
    /// RGB, or RGBA if any pixel is transparent.
    Pixels(Pixels),
}

/// Below this, an odd width or height is resized as pixels: the half chroma sample at its edge would show.
const MIN_ODD_PLANE: u32 = 64;

impl UprightImage {
    /// A fully opaque alpha channel is dropped.
    pub(crate) fn from_pixels(pixels: Pixels, gamut: Gamut) -> Self {
        Self { samples: Samples::from_pixels(pixels), gamut }
    }

    /// Resizes a region of planes that have this gamut already.
    pub(crate) fn from_planes(planes: &Planes, view: View, gamut: Gamut) -> Result<Self, Error> {
        Ok(Self { samples: Samples::from_planes(planes, view)?, gamut })
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        match &self.samples {
            Samples::Planes(planes) => (planes.width, planes.height),
            Samples::Pixels(pixels) => (pixels.width, pixels.height),
        }
    }

    /// Consumes the image, so only one level of the pyramid is in memory.
    pub(crate) fn resized(self, size: (u32, u32)) -> Result<Self, Error> {
        if self.size() == size {
            return Ok(self);
        }
        let (width, height) = self.size();
        let view = View { region: Region::whole(width, height), size };
        let samples = match self.samples {
            Samples::Planes(planes) => Samples::from_planes(&planes, view)?,
            Samples::Pixels(pixels) => Samples::Pixels(ResizeSource::new(pixels).resized(view)?),
        };
        Ok(Self { samples, ..self })
    }

    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        let samples = match self.samples {
            Samples::Planes(planes) => Samples::Planes(planes.oriented(orientation)),
            Samples::Pixels(pixels) => {
                let (width, height) = orientation.apply_to_size((pixels.width, pixels.height));
                let bytes = match pixels.channels {
                    Channels::Rgba => orient::<4>(pixels.bytes, pixels.width, orientation),
                    _ => orient::<3>(pixels.bytes, pixels.width, orientation),
                };
                Samples::Pixels(Pixels { width, height, bytes, ..pixels })
            }
        };
        Self { samples, ..self }
    }

    /// Converts to RGB or RGBA pixels in sRGB.
    pub(crate) fn into_srgb_pixels(self) -> Result<Pixels, Error> {
        let pixels = match self.samples {
            Samples::Planes(planes) => {
                let size = (planes.width, planes.height);
                planes.resized_pixels(Region::whole(size.0, size.1), size)?.into_rgb()
            }
            Samples::Pixels(pixels) => pixels,
        };
        Ok(self.gamut.convert_to_srgb(pixels))
    }
}

impl Samples {
    fn from_pixels(mut pixels: Pixels) -> Self {
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

    fn from_planes(planes: &Planes, view: View) -> Result<Self, Error> {
        let View { region, size } = view;
        let (width, height) = size;
        // An odd square is resized as pixels: the bytes of existing images must not change.
        let keeps_planes = |side: u32| is_even(side) || (width != height && side >= MIN_ODD_PLANE);
        match keeps_planes(width) && keeps_planes(height) {
            true => planes.resized(region, size).map(Self::Planes),
            false => Ok(Self::Pixels(planes.resized_pixels(region, size)?.into_rgb())),
        }
    }
}

/// Composites RGBA pixels over white and drops their alpha. Others are returned unchanged.
pub(crate) fn flatten(pixels: Pixels) -> Pixels {
    if pixels.channels != Channels::Rgba {
        return pixels;
    }
    let over_white = |colour: u8, alpha: u8| {
        let (colour, alpha) = (u32::from(colour), u32::from(alpha));
        // At most 255: a weighted mean of two bytes.
        ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    let bytes = rgba(&pixels).iter();
    let bytes = bytes.flat_map(|[rgb @ .., alpha]| rgb.map(|colour| over_white(colour, *alpha))).collect();
    Pixels { channels: Channels::Rgb, bytes, ..pixels }
}

/// In the middle of a white square.
pub(crate) fn framed(pixels: Pixels, side: u32) -> Pixels {
    let pixels = flatten(pixels);
    let (row, frame) = (pixels.width as usize * 3, side as usize * 3);
    let (left, top) = ((side - pixels.width) as usize / 2 * 3, (side - pixels.height) as usize / 2);
    let mut bytes = vec![255; frame * side as usize];
    for (from, to) in pixels.bytes.chunks_exact(row).zip(bytes.chunks_exact_mut(frame).skip(top)) {
        to[left..left + row].copy_from_slice(from);
    }
    Pixels { width: side, height: side, bytes, ..pixels }
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
