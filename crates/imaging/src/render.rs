//! Render: encodes a master at a requested size and format.

use std::panic::catch_unwind;

use model::Size;

use crate::decoded_image::{ColourSpace, DecodedImage, Raster};
use crate::encode::{self, OutputFormat};
use crate::error::{Error, panic_message};
use crate::formats;
use crate::gamut::Gamut;
use crate::limits::Limits;
use crate::region::{Region, View};
use crate::upright_image::{ResizeSource, Samples, UprightImage};

/// Returns an image of exactly this width and height, upscaled if the master is smaller. JPEG is converted to
/// sRGB and its alpha flattened onto white, WebP and AVIF keep both. Every error is [`Error::Internal`]: a
/// master is our own file, so the client is not at fault.
pub fn render(master: &[u8], size: (u32, u32), format: OutputFormat) -> Result<Vec<u8>, Error> {
    match catch_unwind(|| render_inner(master, size, format)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(Error::Internal(cause))) => Err(Error::Internal(cause)),
        Ok(Err(Error::Damaged(cause))) => Err(Error::Internal(format!("corrupt master: {cause}"))),
        Ok(Err(other)) => Err(Error::Internal(format!("invalid master: {other}"))),
        Err(panic) => Err(Error::Internal(panic_message(&*panic))),
    }
}

/// Peak memory of [`render`] for a master of `master` pixels, without the master's file: the decoded image,
/// the resized one, an intermediate, and an encoded file, which may be larger than its pixels for noise. The
/// AVIF encoder has several frames of 16-bit samples, and the state of each block.
pub fn render_memory(master: (u32, u32), size: (u32, u32), format: OutputFormat) -> u64 {
    let pixels = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    let resizing = 10 * pixels(master) + 16 * pixels(size) + (1 << 20);
    match format {
        OutputFormat::Jpeg | OutputFormat::WebP => resizing,
        OutputFormat::Avif => resizing.max(80 * pixels(size) + (8 << 20)),
    }
}

/// No master is larger than the largest square.
const LIMITS: Limits = Limits { max_pixels: (Size::MAX as u64).pow(2) };

fn render_inner(master: &[u8], size: (u32, u32), format: OutputFormat) -> Result<Vec<u8>, Error> {
    encode::output(decode_master(master, size)?, format)
}

/// Decodes a master and resizes it to this width and height.
pub(crate) fn decode_master(master: &[u8], size: (u32, u32)) -> Result<UprightImage, Error> {
    let header = formats::header(master, &LIMITS)?;
    let whole = |(width, height)| View { region: Region::whole(width, height), size };
    let DecodedImage { raster, colour_space } = formats::decode(master, &header, size.0.min(size.1))?;
    // Masters are our own files: no other profile is in them.
    let gamut = match colour_space {
        ColourSpace::Srgb => Gamut::Srgb,
        ColourSpace::Icc(_) | ColourSpace::Cicp { .. } => Gamut::DisplayP3,
    };
    match raster {
        Raster::Planes(planes) => {
            UprightImage::from_planes(&planes, whole((planes.width, planes.height)), gamut)
        }
        Raster::Pixels(pixels) => {
            let mut source = ResizeSource::new(pixels);
            let pixels = source.resized(whole(source.size()))?;
            Ok(UprightImage { samples: Samples::Pixels(pixels.into_rgb()), gamut })
        }
    }
}
