//! Pictures as JPEG keeps them: brightness and colour in planes of their own. Half the bytes of RGB move
//! through every step, and nothing is converted on the way from one JPEG to the next.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, ResizeOptions, Resizer};
use image::metadata::Orientation;
use yuv::{YuvChromaSubsampling, YuvConversionMode, YuvPlanarImage, YuvPlanarImageMut};
use yuv::{YuvRange, YuvStandardMatrix};

use crate::error::Error;
use crate::orient::orient;
use crate::pixels::{Channels, Pixels};

/// JPEG's colours: BT.601 over the whole range of a byte.
const RANGE: YuvRange = YuvRange::Full;
const MATRIX: YuvStandardMatrix = YuvStandardMatrix::Bt601;

/// A picture in one plane (grey) or three (Y, Cb, Cr).
#[derive(Debug)]
pub(crate) struct Planes {
    pub(crate) width: u32,
    pub(crate) height: u32,
    planes: Vec<Plane>,
}

/// Samples in rows. A plane may be larger than its picture, to the right and below: decoders fill whole blocks.
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

    /// A square of RGB pixels, or of grey ones.
    pub(crate) fn from_square(pixels: &Pixels) -> Result<Self, Error> {
        let side = pixels.width;
        let mut image = YuvPlanarImageMut::<u8>::alloc(side, side, YuvChromaSubsampling::Yuv420);
        let mode = YuvConversionMode::default();
        let converted = yuv::rgb_to_yuv420(&mut image, &pixels.bytes, 3 * side, RANGE, MATRIX, mode);
        converted.map_err(Error::internal)?;

        let half = side.div_ceil(2);
        let plane = |side, per_pixel, samples: &[u8]| Plane {
            width: side,
            height: side,
            samples: samples.to_vec(),
            across: per_pixel,
            down: per_pixel,
        };
        let planes = vec![
            plane(side, 1.0, image.y_plane.borrow()),
            plane(half, 0.5, image.u_plane.borrow()),
            plane(half, 0.5, image.v_plane.borrow()),
        ];
        Self::new(side, side, planes)
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
            Ok(planes) => (Channels::Rgb, rgb(&planes, side)?),
            Err(grey) => (Channels::Grey, grey.concat()),
        };
        Ok(Pixels { width: side, height: side, channels, bytes })
    }

    /// A square from [`Planes::square`] as RGB or grey pixels, each with the colour of its block of four: what
    /// halves the colours again gets the same halves.
    pub(crate) fn pixels(&self) -> Result<Pixels, Error> {
        let samples: Vec<&[u8]> = self.samples().collect();
        let (side, half) = (self.width, self.width / 2);
        let (channels, bytes) = match samples[..] {
            [y_plane, u_plane, v_plane] => {
                let image = YuvPlanarImage {
                    y_plane,
                    y_stride: side,
                    u_plane,
                    u_stride: half,
                    v_plane,
                    v_stride: half,
                    width: side,
                    height: side,
                };
                let mut bytes = vec![0; 3 * y_plane.len()];
                let converted = yuv::yuv420_to_rgb(&image, &mut bytes, 3 * side, RANGE, MATRIX);
                converted.map_err(Error::internal)?;
                (Channels::Rgb, bytes)
            }
            _ => (Channels::Grey, samples.concat()),
        };
        Ok(Pixels { width: side, height: side, channels, bytes })
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
        let crop = ResizeOptions::new().crop(
            left * plane.across,
            top * plane.down,
            short * plane.across,
            short * plane.down,
        );
        let whole = ImageRef::new(plane.width, plane.height, &plane.samples, PixelType::U8);
        let mut square = Image::new(side, side, PixelType::U8);
        let resized = Resizer::new().resize(&whole.map_err(Error::internal)?, &mut square, &crop);
        resized.map_err(Error::internal)?;
        Ok(square.into_vec())
    }
}

fn rgb([y, cb, cr]: &[Vec<u8>; 3], side: u32) -> Result<Vec<u8>, Error> {
    let image = YuvPlanarImage {
        y_plane: y,
        y_stride: side,
        u_plane: cb,
        u_stride: side,
        v_plane: cr,
        v_stride: side,
        width: side,
        height: side,
    };
    let mut bytes = vec![0; 3 * y.len()];
    yuv::yuv444_to_rgb(&image, &mut bytes, 3 * side, RANGE, MATRIX).map_err(Error::internal)?;
    Ok(bytes)
}
