//! GIF: the first frame on its screen.

pub(super) mod strip;

use std::io::Cursor;

use image::ImageDecoder;
use image::codecs::gif::GifDecoder;
use image::metadata::Orientation;

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::picture::{Colours, Header, Picture, bytes_at, other_picture};
use crate::pixels::Channels;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let [w0, w1, h0, h1] = bytes_at(file, 6).ok_or_else(|| Error::damaged("a short GIF header"))?;
    let width = u16::from_le_bytes([w0, w1]).into();
    let height = u16::from_le_bytes([h0, h1]).into();
    limits.check(width, height)?;
    Ok(Header {
        format: InputFormat::Gif,
        width,
        height,
        orientation: Orientation::NoTransforms,
        channels: Channels::Rgba,
        // The palette's numbers, and a frame of its own where it does not fill the screen.
        decoding: 9 * u64::from(width) * u64::from(height) + (1 << 20),
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<Picture, Error> {
    let mut decoder = GifDecoder::new(Cursor::new(file)).map_err(Error::damaged)?;
    if decoder.dimensions() != (header.width, header.height) {
        return Err(other_picture());
    }
    // A frame may claim to be larger than its screen.
    let mut limits = image::Limits::no_limits();
    limits.max_alloc = Some(header.channels.size(header.width, header.height));
    decoder.set_limits(limits).map_err(Error::damaged)?;

    let profile = decoder.icc_profile().map_err(Error::damaged)?;
    let mut bytes = header.buffer()?;
    decoder.read_image(&mut bytes).map_err(Error::damaged)?;
    Ok(header.picture(bytes, Colours::from_profile(profile)))
}
