//! HEIC: HEIF boxes around HEVC pictures, which heic-decoder decodes tile by tile.
//!
//! Its own way from file to picture holds all tiles at once, at ten bytes for each pixel, and starts a
//! thread for each core. So only its innermost part is used: one coded picture in, its planes out.

mod codec;

use heic_decoder::decode_one_image;
use heic_decoder::hevc::ctu;
use heic_decoder::isobmff::ResolvedImage;

use self::codec::{Codec, error};
use super::heif::Heif;
use super::heif::still::Still;
use super::heif::ycbcr::{Canvas, Plane, Samples, Tile};
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::picture::{Header, Picture, other_picture};
use crate::pixels::Channels;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let heif = Heif::read(file)?;
    let channels = if heif.alpha.is_some() { Channels::Rgba } else { Channels::Rgb };
    let (width, height) = (heif.window.width, heif.window.height);
    limits.check(width, height)?;
    let output = channels.size(width, height);
    // With a single tile, the output is made only when the decoder has let go of more than that.
    let before = if heif.colour.is_single() { 0 } else { output };
    let mut decoding = Codec::read(&heif.colour)?.memory() + before;
    if let Some(alpha) = &heif.alpha {
        decoding = decoding.max(Codec::read(alpha)?.memory() + output);
    }
    Ok(Header {
        format: InputFormat::Heic,
        width,
        height,
        orientation: heif.orientation,
        channels,
        // Bytes in three copies: for the decoder, in units, and without their stuffing.
        decoding: decoding + heif.copies(3) + FIXED,
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<Picture, Error> {
    let heif = Heif::read(file)?;
    let window = (heif.window.width, heif.window.height);
    if window != (header.width, header.height) || heif.alpha.is_some() != header.channels.has_alpha() {
        return Err(other_picture());
    }
    let codec = Codec::read(&heif.colour)?;
    // The box outside wins over what the stream says itself.
    let colours = heif.nclx.unwrap_or_else(|| codec.colours());
    let mut bytes = Vec::new();
    each_tile(&heif, &heif.colour, &codec, |tile, place| {
        if bytes.is_empty() {
            bytes = header.buffer()?;
        }
        canvas(&mut bytes, header).paint(tile, place, &colours)
    })?;
    if let Some(alpha) = &heif.alpha {
        let codec = Codec::read(alpha)?;
        let full_range = codec.colours().full_range;
        each_tile(&heif, alpha, &codec, |tile, place| {
            canvas(&mut bytes, header).veil(tile, place, full_range)
        })?;
        if heif.premultiplied {
            canvas(&mut bytes, header).unmultiply();
        }
    }
    Ok(header.picture(bytes, heif.colours(colours)))
}

fn canvas<'a>(bytes: &'a mut [u8], header: &Header) -> Canvas<'a> {
    Canvas { bytes, width: header.width as usize, channels: header.channels.count() }
}

/// What the decoder holds that does not grow with the picture.
const FIXED: u64 = 1 << 20;

/// Decodes one tile after the other, so that never more than one is in memory.
fn each_tile(
    heif: &Heif,
    still: &Still,
    codec: &Codec,
    mut paint: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
) -> Result<(), Error> {
    for tile in heif.tiles(still) {
        let (data, x, y) = tile?;
        codec.check(&data)?;
        let image = ResolvedImage { hevc_config: codec.config.clone(), data: data.into_owned() };
        let (_, picture) = decode_one_image(&image).map_err(error)?;
        drop(image);
        lend(picture, still, codec, |tile| paint(tile, (x, y)))?;
    }
    Ok(())
}

/// Lends the planes of a picture, without what fills up its last blocks.
fn lend(
    picture: ctu::Picture,
    still: &Still,
    codec: &Codec,
    to: impl FnOnce(&Tile) -> Result<(), Error>,
) -> Result<(), Error> {
    let (halved_x, halved_y) = codec.halved();
    let (left, top) = codec.corner();
    let half = |number: usize, halved: bool| if halved { number / 2 } else { number };
    let strides = (picture.y.width, picture.cb.width);
    let [luma, blue, red] = [picture.y, picture.cb, picture.cr].map(ctu::Plane::into_samples);
    let chroma = |samples| plane(samples, strides.1, half(left, halved_x), half(top, halved_y));
    to(&Tile {
        width: still.tile_width as usize,
        height: still.tile_height as usize,
        depth: codec.depth(),
        luma: plane(&luma, strides.0, left, top),
        chroma: (!blue.is_empty()).then(|| [chroma(&blue), chroma(&red)]),
        halved: (halved_x, halved_y),
    })
}

fn plane(samples: &[i32], stride: usize, left: usize, top: usize) -> Plane<'_> {
    let inner = samples.get(top * stride + left..).unwrap_or_default();
    Plane { samples: Samples::Ints(inner), stride }
}
