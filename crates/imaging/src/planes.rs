//! Planar YCbCr images, as JPEG stores them. 4:2:0 planes have half the bytes of RGB, and JPEG to JPEG needs
//! no colour conversion.

use crate::error::Error;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::{resize, ycbcr};

/// An image of one plane (grey) or three (Y, Cb, Cr).
#[derive(Debug)]
pub(crate) struct Planes {
    pub(crate) width: u32,
    pub(crate) height: u32,
    planes: Vec<Plane>,
}

/// Samples in rows. A plane may extend beyond the image to the right and below: decoders output whole blocks.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) samples: Vec<u8>,
    /// Samples of this plane per image pixel: 0.5 for a subsampled axis.
    pub(crate) scale_x: f64,
    pub(crate) scale_y: f64,
}

impl Planes {
    pub(crate) fn new(width: u32, height: u32, planes: Vec<Plane>) -> Result<Self, Error> {
        match planes.len() {
            1 | 3 => Ok(Self { width, height, planes }),
            count => Err(Error::internal(format!("an image of {count} planes"))),
        }
    }

    /// Converts a square of RGB pixels with an even side to 4:2:0.
    pub(crate) fn from_square(pixels: &Pixels) -> Self {
        let side = pixels.width;
        let [y, cb, cr] = ycbcr::rgb_to_ycbcr_420(&pixels.bytes, side as usize);
        let plane = |side, scale, samples| Plane {
            width: side,
            height: side,
            samples,
            scale_x: scale,
            scale_y: scale,
        };
        let planes = vec![plane(side, 1.0, y), plane(side / 2, 0.5, cb), plane(side / 2, 0.5, cr)];
        Self { width: side, height: side, planes }
    }

    pub(crate) fn is_grey(&self) -> bool {
        self.planes.len() == 1
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = &[u8]> {
        self.planes.iter().map(|plane| &plane.samples[..])
    }

    /// Crops the centre square and resizes it to this side in 4:2:0. The side must be even: half of an odd
    /// one would shift chroma against luma.
    pub(crate) fn centre_square(&self, side: u32) -> Result<Self, Error> {
        let planes = self.planes.iter().enumerate().map(|(index, plane)| {
            let (side, scale) = if index == 0 { (side, 1.0) } else { (side / 2, 0.5) };
            let samples = self.crop_and_resize(plane, side)?;
            Ok(Plane { width: side, height: side, samples, scale_x: scale, scale_y: scale })
        });
        Self::new(side, side, planes.collect::<Result<_, Error>>()?)
    }

    /// Crops the centre square and resizes it to any side, as RGB or grey pixels.
    pub(crate) fn centre_square_pixels(&self, side: u32) -> Result<Pixels, Error> {
        let planes = self.planes.iter().map(|plane| self.crop_and_resize(plane, side));
        let planes: Vec<Vec<u8>> = planes.collect::<Result<_, Error>>()?;
        let (channels, bytes) = match <[Vec<u8>; 3]>::try_from(planes) {
            Ok(planes) => (Channels::Rgb, ycbcr::ycbcr_444_to_rgb(planes.each_ref().map(Vec::as_slice))),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Ok(Pixels { width: side, height: side, channels, bytes })
    }

    /// Converts a 4:2:0 square to RGB or grey pixels. Chroma is replicated, not interpolated, so subsampling
    /// the pixels again yields the same chroma.
    pub(crate) fn pixels(&self) -> Pixels {
        let samples: Vec<&[u8]> = self.samples().collect();
        let (channels, bytes) = match <[&[u8]; 3]>::try_from(samples) {
            Ok(planes) => (Channels::Rgb, ycbcr::ycbcr_420_to_rgb(planes, self.width as usize)),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Pixels { width: self.width, height: self.width, channels, bytes }
    }

    /// Orients a square. Every plane must be square too.
    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        let oriented = |plane: Plane| Plane {
            samples: orient::<1>(plane.samples, plane.width as usize, orientation),
            ..plane
        };
        Self { planes: self.planes.into_iter().map(oriented).collect(), ..self }
    }

    fn crop_and_resize(&self, plane: &Plane, side: u32) -> Result<Vec<u8>, Error> {
        let short_side = self.width.min(self.height);
        let left = f64::from((self.width - short_side) / 2);
        let top = f64::from((self.height - short_side) / 2);
        let short_side = f64::from(short_side);
        let crop = resize::Crop {
            left: left * plane.scale_x,
            top: top * plane.scale_y,
            width: short_side * plane.scale_x,
            height: short_side * plane.scale_y,
        };
        let Plane { width, height, samples, .. } = plane;
        let view = resize::ImageView { width: *width, height: *height, samples };
        resize::resize_plane(view, &crop, side, side)
    }
}
