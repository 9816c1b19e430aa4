//! AVIF: HEIF boxes around AV1 pictures, which rav1d decodes tile by tile.

mod obu;

use re_rav1d::dav1d::{self, Decoder, PixelLayout, PlanarImageComponent as Component, Settings};

use self::obu::Coded;
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
    let mut decoder = 0;
    for still in [Some(&heif.colour), heif.alpha.as_ref()].into_iter().flatten() {
        decoder = decoder.max(memory(&first_tile(&heif, still)?));
    }
    Ok(Header {
        format: InputFormat::Avif,
        width,
        height,
        orientation: heif.orientation,
        channels,
        // The decoder wants bytes of its own, and those may have to be put together first.
        decoding: channels.size(width, height) + decoder + heif.copies(2) + FIXED,
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<Picture, Error> {
    let heif = Heif::read(file)?;
    let window = (heif.window.width, heif.window.height);
    if window != (header.width, header.height) || heif.alpha.is_some() != header.channels.has_alpha() {
        return Err(other_picture());
    }
    // The box outside wins over what the stream says itself.
    let colours = heif.nclx.unwrap_or(first_tile(&heif, &heif.colour)?.colours);
    let mut bytes = header.buffer()?;
    let mut canvas =
        Canvas { bytes: &mut bytes, width: header.width as usize, channels: header.channels.count() };
    each_tile(&heif, &heif.colour, |tile, place| canvas.paint(tile, place, &colours))?;
    if let Some(alpha) = &heif.alpha {
        let full_range = first_tile(&heif, alpha)?.colours.full_range;
        each_tile(&heif, alpha, |tile, place| canvas.veil(tile, place, full_range))?;
        if heif.premultiplied {
            canvas.unmultiply();
        }
    }
    Ok(header.picture(bytes, heif.colours(colours)))
}

/// What the decoder holds that does not grow with the picture.
const FIXED: u64 = 1 << 20;

/// What it holds for each tile within a coded picture; those are 64 × 64 pixels or more, and at most 64 in
/// each direction. How many there are stands too deep in the stream to be read here.
const TILE_STATE: u64 = 16 << 10;

/// Bytes rav1d takes for one coded picture: its planes, once more if they are scaled and once more if grain
/// is added, notes on its blocks, and the state of its tiles.
fn memory(coded: &Coded) -> u64 {
    let padded = |side: u32| u64::from(side).next_multiple_of(128) + 64;
    let pixels = padded(coded.width) * padded(coded.height);
    let samples = match coded.halved {
        _ if coded.grey => pixels,
        (true, true) => pixels * 3 / 2,
        (true, false) => pixels * 2,
        _ => pixels * 3,
    };
    let depth = if coded.deep { 2 } else { 1 };
    let planes = 1 + u64::from(coded.scaled) + u64::from(coded.grainy);
    let tiles = |side: u32| u64::from(side).div_ceil(64).min(64);
    planes * samples * depth + pixels * 3 / 2 + tiles(coded.width) * tiles(coded.height) * TILE_STATE
}

fn first_tile(heif: &Heif, still: &Still) -> Result<Coded, Error> {
    let first = heif.tiles(still).next().ok_or_else(other_picture)?;
    coded(still, &first?.0)
}

/// What the bytes of a tile hold, if it is what its item announced.
fn coded(still: &Still, data: &[u8]) -> Result<Coded, Error> {
    if still.kind != *b"av01" {
        return Err(other_picture());
    }
    let coded = Coded::read(data).ok_or(Error::Unsupported("an AVIF picture in layers"))?;
    match (coded.width, coded.height) == (still.tile_width, still.tile_height) {
        true => Ok(coded),
        false => Err(other_picture()),
    }
}

/// Decodes one tile after the other, so that never more than one is in memory.
fn each_tile(
    heif: &Heif,
    still: &Still,
    mut paint: impl FnMut(&Tile, (i64, i64)) -> Result<(), Error>,
) -> Result<(), Error> {
    let first = first_tile(heif, still)?;
    for tile in heif.tiles(still) {
        let (data, x, y) = tile?;
        if coded(still, &data)? != first {
            return Err(other_picture());
        }
        let picture = decode_tile(data.into_owned(), &first)?;
        lend(&picture, &first, |tile| paint(tile, (x, y)))?;
    }
    Ok(())
}

fn decode_tile(data: Vec<u8>, coded: &Coded) -> Result<dav1d::Picture, Error> {
    let mut settings = Settings::new();
    // One thread is no thread: all happens on this one.
    settings.set_n_threads(1);
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_frame_size_limit(coded.width.saturating_mul(coded.height));
    let mut decoder = Decoder::with_settings(&settings).map_err(Error::internal)?;
    let waiting = |result: Result<(), dav1d::Error>| match result {
        Err(error) if !error.is_again() => Err(Error::damaged(error)),
        _ => Ok(()),
    };
    waiting(decoder.send_data(data, None, None, None))?;
    // At the second call the decoder knows that nothing follows.
    let picture = match decoder.get_picture() {
        Err(error) if error.is_again() => decoder.get_picture(),
        picture => picture,
    };
    picture.map_err(Error::damaged)
}

/// Lends the planes of a picture, once it turns out to be the announced one.
fn lend<T>(
    picture: &dav1d::Picture,
    coded: &Coded,
    to: impl FnOnce(&Tile) -> Result<T, Error>,
) -> Result<T, Error> {
    let (grey, halved) = match picture.pixel_layout() {
        PixelLayout::I400 => (true, (true, true)),
        PixelLayout::I420 => (false, (true, true)),
        PixelLayout::I422 => (false, (true, false)),
        PixelLayout::I444 => (false, (false, false)),
    };
    let (width, height, depth) = (picture.width(), picture.height(), picture.bit_depth());
    let deep = depth > 8;
    if (Coded { width, height, deep, grey, halved, ..*coded }) != *coded {
        return Err(other_picture());
    }
    let luma = picture.plane(Component::Y);
    // A grey picture has none, and asking for them is a panic.
    let chroma = (!grey).then(|| [picture.plane(Component::U), picture.plane(Component::V)]);
    let plane = |bytes, component| {
        // It counts bytes.
        let stride = picture.stride(component) as usize;
        match deep {
            true => Plane { samples: Samples::Pairs(bytes), stride: stride / 2 },
            false => Plane { samples: Samples::Bytes(bytes), stride },
        }
    };
    to(&Tile {
        width: width as usize,
        height: height as usize,
        depth: depth as u32,
        luma: plane(&luma, Component::Y),
        chroma: chroma.as_ref().map(|[u, v]| [plane(u, Component::U), plane(v, Component::V)]),
        halved,
    })
}
