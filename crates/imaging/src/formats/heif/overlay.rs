//! Overlays (`iovl`): a canvas on which other images are placed.

use crate::error::Error;
use crate::isobmff::{Meta, Reader};
use crate::pixels::{Channels, Pixels};

/// Inputs of one overlay. They are decoded one after the other, each into a buffer of its own.
const MAX_INPUTS: usize = 32;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overlay {
    pub(super) width: u32,
    pub(super) height: u32,
    /// The colour of uncovered pixels, with alpha.
    fill: [u8; 4],
    /// Left and top of each input, which may be outside of the canvas.
    pub(super) positions: Vec<(i64, i64)>,
}

impl Overlay {
    /// None if the item is not an overlay.
    pub(super) fn read(file: &[u8], meta: &Meta, id: u32) -> Result<Option<Self>, Error> {
        if meta.item(id)?.kind != *b"iovl" {
            return Ok(None);
        }
        let inputs = meta.derivation_inputs(id).len();
        if inputs > MAX_INPUTS {
            return Err(Error::Unsupported("a HEIF overlay of this many images"));
        }
        let data = meta.locations.get(&id).and_then(|location| location.data(file));
        let overlay = data.and_then(|data| Self::parse(&data, inputs)).filter(|_| inputs > 0);
        overlay.map(Some).ok_or_else(|| Error::damaged("a malformed HEIF overlay"))
    }

    fn parse(body: &[u8], inputs: usize) -> Option<Self> {
        let mut body = Reader(body);
        let (_version, flags) = (body.u8()?, body.u8()?);
        // 16-bit colours.
        let fill: [[u8; 2]; 4] = [body.array()?, body.array()?, body.array()?, body.array()?];
        let wide = flags & 1 == 1;
        let (width, height) = (body.u16_or_u32(wide)?, body.u16_or_u32(wide)?);
        let mut offset = || match wide {
            true => body.u32().map(|offset| i64::from(offset.cast_signed())),
            false => body.u16().map(|offset| i64::from(offset.cast_signed())),
        };
        let positions = (0..inputs).map(|_| Some((offset()?, offset()?))).collect::<Option<_>>()?;
        Some(Self { width, height, fill: fill.map(|[high, _]| high), positions })
    }

    pub(super) fn channels(&self) -> Channels {
        if self.fill[3] == 255 { Channels::Rgb } else { Channels::Rgba }
    }

    /// Fills a canvas with the colour of uncovered pixels.
    pub(super) fn fill(&self, canvas: &mut Pixels) {
        let channels = canvas.channels.count();
        for pixel in canvas.bytes.chunks_exact_mut(channels) {
            pixel.copy_from_slice(&self.fill[..channels]);
        }
    }
}

/// Composites an RGB or RGBA image over a canvas, with its top left corner at `x`, `y`.
pub(super) fn composite(canvas: &mut Pixels, image: &Pixels, (x, y): (i64, i64)) {
    let hidden = |origin: i64| usize::try_from(-origin).unwrap_or(0);
    let visible = |origin: i64| usize::try_from(origin).unwrap_or(0);
    let (to, from) = (canvas.channels.count(), image.channels.count());
    let columns = (image.width as usize)
        .saturating_sub(hidden(x))
        .min((canvas.width as usize).saturating_sub(visible(x)));
    if columns == 0 {
        return;
    }
    let rows = image.bytes.chunks_exact(image.width as usize * from).skip(hidden(y));
    let lines = canvas.bytes.chunks_exact_mut(canvas.width as usize * to).skip(visible(y));
    for (row, line) in rows.zip(lines) {
        let pixels = row[hidden(x) * from..][..columns * from].chunks_exact(from);
        let below = line[visible(x) * to..][..columns * to].chunks_exact_mut(to);
        for (below, pixel) in below.zip(pixels) {
            blend(below, pixel);
        }
    }
}

/// Places a pixel over another; both have straight alpha, or none.
fn blend(below: &mut [u8], pixel: &[u8]) {
    let alpha = |pixel: &[u8]| pixel.get(3).map_or(255, |alpha| u32::from(*alpha));
    let (over, under) = (alpha(pixel), alpha(below));
    // Both in 255², so that the weights of the colours are whole numbers.
    let (over, under) = (over * 255, under * (255 - over));
    let total = over + under;
    if total == 0 {
        return;
    }
    for (below, colour) in below.iter_mut().zip(&pixel[..3]) {
        // At most 255: a weighted mean of two bytes.
        *below = ((u32::from(*colour) * over + u32::from(*below) * under + total / 2) / total) as u8;
    }
    if let [_, _, _, alpha] = below {
        *alpha = ((total + 127) / 255) as u8;
    }
}
