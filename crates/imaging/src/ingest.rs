//! From an upload to the squares that are kept of it.

use std::panic::catch_unwind;

use model::master_sides;

use crate::error::panic_words;
use crate::square::{self, Square};
use crate::{Error, Limits, colour, encode, probe, source};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingested {
    /// Of the upright picture, not of the square.
    pub width: u32,
    pub height: u32,
    /// A thumbhash of the square.
    pub placeholder: Vec<u8>,
    /// Largest first, with the sides that [`model::master_sides`] gives.
    pub masters: Vec<Master>,
}

/// A square that is kept, as a file that [`render`](crate::render) reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Master {
    pub side: u32,
    pub bytes: Vec<u8>,
}

/// Decodes the upload and makes its masters. Takes as much memory as [`probe`](crate::probe) says.
pub fn ingest(file: &[u8], limits: &Limits) -> Result<Ingested, Error> {
    // Codecs panic on inputs nobody thought of. Such a picture is refused, not the service stopped.
    catch_unwind(|| run(file, limits)).unwrap_or_else(|panic| Err(Error::damaged(panic_words(&*panic))))
}

fn run(file: &[u8], limits: &Limits) -> Result<Ingested, Error> {
    let header = source::header(file, limits)?;
    let (width, height) = probe::upright(&header);
    let short = width.min(height);
    let mut sides = master_sides(short);
    let top = sides.next().unwrap_or(short);

    // Colour and orientation come after the first resizing: they cost by the pixel, and now there are less.
    let picture = source::decode(file, &header)?;
    let pixels = square::centre(picture.pixels, top)?;
    let pixels = colour::to_srgb(pixels, picture.profile.as_deref());
    let mut square = Square::new(pixels).oriented(header.orientation);

    let mut masters = vec![master(&square)?];
    for side in sides {
        square = square.resized(side)?;
        masters.push(master(&square)?);
    }
    Ok(Ingested { width, height, placeholder: placeholder(square)?, masters })
}

fn master(square: &Square) -> Result<Master, Error> {
    Ok(Master { side: square.side, bytes: encode::master(square)? })
}

/// A thumbhash keeps at most seven waves in each direction, so more pixels than this tell it nothing.
const PLACEHOLDER_SIDE: u32 = 32;

fn placeholder(square: Square) -> Result<Vec<u8>, Error> {
    let side = square.side.min(PLACEHOLDER_SIDE);
    let square = square.resized(side)?;
    let rgba = match square.alpha {
        true => square.bytes,
        false => {
            let (pixels, _) = square.bytes.as_chunks();
            pixels.iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect()
        }
    };
    Ok(thumbhash::rgba_to_thumb_hash(side as usize, side as usize, &rgba))
}
