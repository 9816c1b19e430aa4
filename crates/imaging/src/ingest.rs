//! From an upload to the squares that are kept of it.

use std::fmt;
use std::panic::catch_unwind;

use model::{Size, master_sides};

use crate::colour::Conversion;
use crate::encode::{self, OutputFormat};
use crate::error::{Error, panic_words};
use crate::formats;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::Removed;
use crate::picture::{Header, Picture, Raster};
use crate::pixels::Channels;
use crate::probe;
use crate::square::{self, Square};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingested {
    /// Of the upright picture, not of the square.
    pub width: u32,
    pub height: u32,
    /// A thumbhash of the square.
    pub placeholder: Vec<u8>,
    /// Largest first, with the sides that [`model::master_sides`] gives.
    pub masters: Vec<Master>,
    pub original: Original,
    /// What was in the upload and is in nothing that is kept.
    pub removed: Removed,
}

/// The upload without anything but its pixels, for sizes and formats yet to come. Not upright.
#[derive(Clone, PartialEq, Eq)]
pub struct Original {
    pub format: InputFormat,
    /// How to turn it upright, as EXIF counts: 1 to 8.
    pub orientation: u8,
    pub bytes: Vec<u8>,
}

/// A square that is kept, as a file that [`render`](crate::render) reads.
#[derive(Clone, PartialEq, Eq)]
pub struct Master {
    pub side: u32,
    pub bytes: Vec<u8>,
}

/// Files are told by their length: nobody reads a megabyte in a log.
impl fmt::Debug for Master {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Master").field("side", &self.side).field("bytes", &self.bytes.len()).finish()
    }
}

impl fmt::Debug for Original {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { format, orientation, bytes } = self;
        let mut original = f.debug_struct("Original");
        original
            .field("format", format)
            .field("orientation", orientation)
            .field("bytes", &bytes.len())
            .finish()
    }
}

/// Decodes the upload and makes its masters. Takes as much memory as [`probe`](crate::probe) says.
pub fn ingest(file: &[u8], limits: &Limits) -> Result<Ingested, Error> {
    guarded(|| masters(file, limits))
}

/// The picture as somebody would be served it, straight from the upload and without leaving a master. For
/// whoever needs one size once: a large JPEG is not even decoded whole.
pub fn thumbnail(file: &[u8], limits: &Limits, size: Size, format: OutputFormat) -> Result<Vec<u8>, Error> {
    guarded(|| {
        let header = formats::header(file, limits)?;
        encode::rendered(upright_square(file, &header, size.side())?, format)
    })
}

/// Codecs panic on inputs nobody thought of. Such a picture is refused, not the service stopped.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error> + std::panic::UnwindSafe) -> Result<T, Error> {
    catch_unwind(work).unwrap_or_else(|panic| Err(Error::damaged(panic_words(&*panic))))
}

fn masters(file: &[u8], limits: &Limits) -> Result<Ingested, Error> {
    let header = formats::header(file, limits)?;
    let (width, height) = probe::upright(&header);
    let short = width.min(height);
    let mut sides = master_sides(short);
    let top = sides.next().unwrap_or(short);

    // What is decoded is what is kept: no decoder sees metadata, and the original is known to be readable.
    let (bytes, removed) = formats::strip(file, header.format)?;
    let mut square = upright_square(&bytes, &header, top)?;
    let mut masters = vec![master(&square)?];
    for side in sides {
        square = square.resized(side)?;
        masters.push(master(&square)?);
    }
    let placeholder = placeholder(square)?;
    let original = Original { format: header.format, orientation: header.orientation.to_exif(), bytes };
    Ok(Ingested { width, height, placeholder, masters, original, removed })
}

/// Colour and orientation come after the first resizing: they cost by the pixel, and then there are less.
fn upright_square(file: &[u8], header: &Header, side: u32) -> Result<Square, Error> {
    let Picture { raster, colours } = formats::decode(file, header, side)?;
    let square = match raster {
        Raster::Planes(planes) => {
            let channels = if planes.is_grey() { Channels::Grey } else { Channels::Rgb };
            match Conversion::new(&colours, channels) {
                Some(conversion) => Square::from_pixels(conversion.apply(planes.square_pixels(side)?)),
                None => Square::from_planes(&planes, side)?,
            }
        }
        Raster::Pixels(pixels) => {
            let conversion = Conversion::new(&colours, pixels.channels);
            let pixels = square::centre(pixels, side)?;
            Square::from_pixels(match conversion {
                Some(conversion) => conversion.apply(pixels),
                None => pixels.into_rgb(),
            })
        }
    };
    Ok(square.oriented(header.orientation))
}

fn master(square: &Square) -> Result<Master, Error> {
    Ok(Master { side: square.side(), bytes: encode::master(square)? })
}

/// A thumbhash keeps at most seven waves in each direction, so more pixels than this tell it nothing.
const PLACEHOLDER_SIDE: u32 = 32;

fn placeholder(square: Square) -> Result<Vec<u8>, Error> {
    let side = square.side().min(PLACEHOLDER_SIDE);
    let pixels = square.resized(side)?.into_pixels()?;
    let rgba = match pixels.channels {
        Channels::Rgba => pixels.bytes,
        _ => {
            let (rgb, _) = pixels.bytes.as_chunks();
            rgb.iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect()
        }
    };
    Ok(thumbhash::rgba_to_thumb_hash(side as usize, side as usize, &rgba))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codec_that_panics_is_a_damaged_picture() {
        let refused = guarded::<()>(|| panic!("index out of bounds"));
        assert!(matches!(&refused, Err(Error::Damaged(cause)) if cause.contains("index out of bounds")));
    }
}
