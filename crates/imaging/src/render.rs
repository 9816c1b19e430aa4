//! From a master to the picture somebody asked for.

use std::panic::catch_unwind;

use model::Size;

use crate::error::panic_words;
use crate::square::{self, Square};
use crate::{Error, Format, Limits, encode, source};

/// Makes the square of exactly this size, larger than the master if need be. JPEG puts transparency on
/// white, WebP keeps it. Every error is [`Error::Internal`]: whoever asked is not to blame for a master.
pub fn render(master: &[u8], size: Size, format: Format) -> Result<Vec<u8>, Error> {
    match catch_unwind(|| run(master, size, format)) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(Error::Internal(cause))) => Err(Error::Internal(cause)),
        Ok(Err(Error::Damaged(cause))) => Err(Error::Internal(format!("a broken master: {cause}"))),
        Ok(Err(other)) => Err(Error::Internal(format!("not a master: {other}"))),
        Err(panic) => Err(Error::Internal(panic_words(&*panic))),
    }
}

/// A master is not larger than the largest size.
const LIMITS: Limits = Limits { max_pixels: (Size::MAX as u64).pow(2) };

fn run(master: &[u8], size: Size, format: Format) -> Result<Vec<u8>, Error> {
    let header = source::header(master, &LIMITS)?;
    let picture = source::decode(master, &header)?;
    let pixels = square::centre(picture.pixels, size.side())?;
    encode::rendered(Square::new(pixels), format)
}
