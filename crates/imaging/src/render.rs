//! Render: encodes a master at a requested size and format.

use std::panic::catch_unwind;

use model::Size;

use crate::decoded_image::Raster;
use crate::encode::{self, OutputFormat};
use crate::error::{Error, panic_message};
use crate::formats;
use crate::limits::Limits;
use crate::square::{self, Square};

/// Returns a square of exactly this size, upscaled if the master is smaller. JPEG flattens alpha onto white,
/// WebP keeps it. Every error is [`Error::Internal`]: a master is our own file, so the client is not at
/// fault.
pub fn render(master: &[u8], size: Size, format: OutputFormat) -> Result<Vec<u8>, Error> {
    match catch_unwind(|| render_inner(master, size, format)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(Error::Internal(cause))) => Err(Error::Internal(cause)),
        Ok(Err(Error::Damaged(cause))) => Err(Error::Internal(format!("corrupt master: {cause}"))),
        Ok(Err(other)) => Err(Error::Internal(format!("invalid master: {other}"))),
        Err(panic) => Err(Error::Internal(panic_message(&*panic))),
    }
}

/// Peak memory of [`render`] at `side` for a master of `master_side`, without the master's file: the decoded
/// square, the resized one, an intermediate, and an encoded file, which may be larger than its pixels for
/// noise.
pub fn render_memory(master_side: u32, side: u32) -> u64 {
    let pixels = |side: u32| u64::from(side) * u64::from(side);
    10 * pixels(master_side) + 16 * pixels(side) + (1 << 20)
}

/// No master is larger than the largest output size.
const LIMITS: Limits = Limits { max_pixels: (Size::MAX as u64).pow(2) };

fn render_inner(master: &[u8], size: Size, format: OutputFormat) -> Result<Vec<u8>, Error> {
    encode::output(decode_master(master, size.side())?, format)
}

/// Decodes a master and resizes it to this side.
pub(crate) fn decode_master(master: &[u8], side: u32) -> Result<Square, Error> {
    let header = formats::header(master, &LIMITS)?;
    match formats::decode(master, &header, side)?.raster {
        Raster::Planes(planes) => Square::from_planes(&planes, side),
        Raster::Pixels(pixels) => Ok(Square::Pixels(square::centre_square(pixels, side)?.into_rgb())),
    }
}
