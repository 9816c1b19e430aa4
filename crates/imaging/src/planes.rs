//! Pictures as JPEG keeps them: brightness and colour in planes of their own. Half the bytes of RGB move
//! through every step, and nothing is converted on the way from one JPEG to the next.

use crate::error::Error;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::{resize, ycbcr};

/// A picture in one plane (grey) or three (Y, Cb, Cr).
#[derive(Debug)]
pub(crate) struct Planes {
    pub(crate) width: u32,
    pub(crate) height: u32,
    planes: Vec<Plane>,
}

/// Samples in rows. A plane may be larger than its picture, to the right and below: decoders fill whole
/// blocks.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) samples: Vec<u8>,
    /// Samples per pixel of the picture, in each direction.
    pub(crate) across: f64,
    pub(crate) down: f64,
}

impl Planes {
    pub(crate) fn new(width: u32, height: u32, planes: Vec<Plane>) -> Result<Self, Error> {
        match planes.len() {
            1 | 3 => Ok(Self { width, height, planes }),
            count => Err(Error::internal(format!("a picture in {count} planes"))),
        }
    }

    /// A square of RGB pixels whose side is even.
    pub(crate) fn from_square(pixels: &Pixels) -> Self {
        let side = pixels.width;
        let [luma, blue, red] = ycbcr::from_rgb(&pixels.bytes, side as usize);
        let plane = |side, per_pixel, samples| Plane {
            width: side,
            height: side,
            samples,
            across: per_pixel,
            down: per_pixel,
        };
        let planes = vec![plane(side, 1.0, luma), plane(side / 2, 0.5, blue), plane(side / 2, 0.5, red)];
        Self { width: side, height: side, planes }
    }

    pub(crate) fn is_grey(&self) -> bool {
        self.planes.len() == 1
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = &[u8]> {
        self.planes.iter().map(|plane| &plane.samples[..])
    }

    /// The centre square at this side, its colour at half of it. The side must be even: the half of an odd
    /// one would shift the colours against the brightness.
    pub(crate) fn square(&self, side: u32) -> Result<Self, Error> {
        let planes = self.planes.iter().enumerate().map(|(index, plane)| {
            let (side, per_pixel) = if index == 0 { (side, 1.0) } else { (side / 2, 0.5) };
            let samples = self.centre(plane, side)?;
            Ok(Plane { width: side, height: side, samples, across: per_pixel, down: per_pixel })
        });
        Self::new(side, side, planes.collect::<Result<_, Error>>()?)
    }

    /// The centre square at any side, as RGB or grey pixels.
    pub(crate) fn square_pixels(&self, side: u32) -> Result<Pixels, Error> {
        let planes = self.planes.iter().map(|plane| self.centre(plane, side));
        let planes: Vec<Vec<u8>> = planes.collect::<Result<_, Error>>()?;
        let (channels, bytes) = match <[Vec<u8>; 3]>::try_from(planes) {
            Ok(planes) => (Channels::Rgb, ycbcr::to_rgb(planes.each_ref().map(Vec::as_slice))),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Ok(Pixels { width: side, height: side, channels, bytes })
    }

    /// A square from [`Planes::square`] as RGB or grey pixels, each with the colour of its block of four:
    /// what halves the colours again gets the same halves.
    pub(crate) fn pixels(&self) -> Pixels {
        let samples: Vec<&[u8]> = self.samples().collect();
        let (channels, bytes) = match <[&[u8]; 3]>::try_from(samples) {
            Ok(planes) => (Channels::Rgb, ycbcr::to_rgb_from_halves(planes, self.width as usize)),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Pixels { width: self.width, height: self.width, channels, bytes }
    }

    /// Turns a square whose planes are squares too.
    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        let turned = |plane: Plane| Plane {
            samples: orient::<1>(plane.samples, plane.width as usize, orientation),
            ..plane
        };
        Self { planes: self.planes.into_iter().map(turned).collect(), ..self }
    }

    fn centre(&self, plane: &Plane, side: u32) -> Result<Vec<u8>, Error> {
        let short = self.width.min(self.height);
        let left = f64::from((self.width - short) / 2);
        let top = f64::from((self.height - short) / 2);
        let short = f64::from(short);
        let crop = resize::Crop {
            left: left * plane.across,
            top: top * plane.down,
            width: short * plane.across,
            height: short * plane.down,
        };
        let Plane { width, height, samples, .. } = plane;
        let source = resize::Source { width: *width, height: *height, samples };
        resize::plane(source, &crop, side, side)
    }
}
