//! From a master to the picture somebody asked for.

use std::panic::catch_unwind;

use model::Size;

use crate::encode::{self, OutputFormat};
use crate::error::{Error, panic_words};
use crate::formats;
use crate::limits::Limits;
use crate::picture::Raster;
use crate::square::{self, Square};

/// Makes the square of exactly this size, larger than the master if need be. JPEG puts transparency on
/// white, WebP keeps it. Every error is [`Error::Internal`]: whoever asked is not to blame for a master.
pub fn render(master: &[u8], size: Size, format: OutputFormat) -> Result<Vec<u8>, Error> {
    match catch_unwind(|| run(master, size, format)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(Error::Internal(cause))) => Err(Error::Internal(cause)),
        Ok(Err(Error::Damaged(cause))) => Err(Error::Internal(format!("a broken master: {cause}"))),
        Ok(Err(other)) => Err(Error::Internal(format!("not a master: {other}"))),
        Err(panic) => Err(Error::Internal(panic_words(&*panic))),
    }
}

/// The most bytes [`render`] holds for a master of this side, beyond the master's file: both squares, the
/// one on its way between them, and a file that may outgrow its pixels when they are noise.
pub fn render_memory(master_side: u32, size: Size) -> u64 {
    let pixels = |side: u32| u64::from(side) * u64::from(side);
    10 * pixels(master_side) + 16 * pixels(size.side()) + (1 << 20)
}

/// A master is not larger than the largest size.
const LIMITS: Limits = Limits { max_pixels: (Size::MAX as u64).pow(2) };

fn run(master: &[u8], size: Size, format: OutputFormat) -> Result<Vec<u8>, Error> {
    let header = formats::header(master, &LIMITS)?;
    let square = match formats::decode(master, &header, size.side())?.raster {
        Raster::Planes(planes) => Square::from_planes(&planes, size.side())?,
        Raster::Pixels(pixels) => Square::Pixels(square::centre(pixels, size.side())?.into_rgb()),
    };
    encode::rendered(square, format)
}
