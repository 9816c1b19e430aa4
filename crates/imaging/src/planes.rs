//! Planar YCbCr images, as JPEG stores them. 4:2:0 planes have half the bytes of RGB, and JPEG to JPEG needs
//! no colour conversion.

use crate::error::Error;
use crate::orient::{Orientation, orient};
use crate::pixels::{Channels, Pixels};
use crate::region::Region;
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

    /// Converts RGB pixels of even width and height to 4:2:0.
    pub(crate) fn from_pixels(pixels: &Pixels) -> Self {
        let Pixels { width, height, .. } = *pixels;
        let [y, cb, cr] = ycbcr::rgb_to_ycbcr_420(&pixels.bytes, width as usize);
        let plane =
            |width, height, scale, samples| Plane { width, height, samples, scale_x: scale, scale_y: scale };
        let chroma = |samples| plane(width / 2, height / 2, 0.5, samples);
        Self { width, height, planes: vec![plane(width, height, 1.0, y), chroma(cb), chroma(cr)] }
    }

    pub(crate) fn is_grey(&self) -> bool {
        self.planes.len() == 1
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = &[u8]> {
        self.planes.iter().map(|plane| &plane.samples[..])
    }

    /// Resizes a region to this width and height in 4:2:0.
    pub(crate) fn resized(&self, region: Region, (width, height): (u32, u32)) -> Result<Self, Error> {
        let planes = self.planes.iter().enumerate().map(|(index, plane)| {
            let (size, scale) = match index {
                0 => ((width, height), 1.0),
                _ => ((width.div_ceil(2), height.div_ceil(2)), 0.5),
            };
            // Of an odd width, the last chroma sample lies half beyond the region.
            let beyond = |length: u32, out: u32| match index {
                0 => f64::from(length),
                _ => f64::from(length) * f64::from(out.next_multiple_of(2)) / f64::from(out),
            };
            let extent = (beyond(region.width, width), beyond(region.height, height));
            let samples = resize_region(plane, region, extent, size)?;
            Ok(Plane { width: size.0, height: size.1, samples, scale_x: scale, scale_y: scale })
        });
        Self::new(width, height, planes.collect::<Result<_, Error>>()?)
    }

    /// Resizes a region to this width and height, as RGB or grey pixels.
    pub(crate) fn resized_pixels(&self, region: Region, size: (u32, u32)) -> Result<Pixels, Error> {
        let extent = (f64::from(region.width), f64::from(region.height));
        let planes = self.planes.iter().map(|plane| resize_region(plane, region, extent, size));
        let planes: Vec<Vec<u8>> = planes.collect::<Result<_, Error>>()?;
        let (channels, bytes) = match <[Vec<u8>; 3]>::try_from(planes) {
            Ok(planes) => (Channels::Rgb, ycbcr::ycbcr_444_to_rgb(planes.each_ref().map(Vec::as_slice))),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Ok(Pixels { width: size.0, height: size.1, channels, bytes })
    }

    /// Converts 4:2:0 planes to RGB or grey pixels. Chroma is replicated, not interpolated, so subsampling
    /// the pixels again yields the same chroma.
    pub(crate) fn pixels(&self) -> Pixels {
        let samples: Vec<&[u8]> = self.samples().collect();
        let (channels, bytes) = match <[&[u8]; 3]>::try_from(samples) {
            Ok(planes) => (Channels::Rgb, ycbcr::ycbcr_420_to_rgb(planes, self.width as usize)),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Pixels { width: self.width, height: self.height, channels, bytes }
    }

    pub(crate) fn oriented(self, orientation: Orientation) -> Self {
        let oriented = |plane: Plane| {
            let (width, height) = orientation.apply_to_size((plane.width, plane.height));
            Plane { width, height, samples: orient::<1>(plane.samples, plane.width, orientation), ..plane }
        };
        let (width, height) = orientation.apply_to_size((self.width, self.height));
        Self { width, height, planes: self.planes.into_iter().map(oriented).collect() }
    }
}

/// Resizes the part of a plane that begins at `region` and has this extent, in pixels of the image. It is cut
/// off where the plane ends.
fn resize_region(
    plane: &Plane,
    region: Region,
    extent: (f64, f64),
    (width, height): (u32, u32),
) -> Result<Vec<u8>, Error> {
    let Plane { scale_x, scale_y, samples, .. } = plane;
    let (left, top) = (f64::from(region.left) * scale_x, f64::from(region.top) * scale_y);
    let crop = resize::Crop {
        left,
        top,
        width: (extent.0 * scale_x).min(f64::from(plane.width) - left),
        height: (extent.1 * scale_y).min(f64::from(plane.height) - top),
    };
    let view = resize::ImageView { width: plane.width, height: plane.height, samples };
    resize::resize_plane(view, &crop, width, height)
}
