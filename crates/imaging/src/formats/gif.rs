//! GIF: the first frame, composited onto the logical screen.

pub(super) mod strip;

use gif::{ColorOutput, DecodeOptions};

use crate::decoded_image::{ColourSpace, DecodedImage, Header, bytes_at, header_mismatch};
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::orient::Orientation;
use crate::pixels::Channels;

pub(super) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let [w0, w1, h0, h1] = bytes_at(file, 6).ok_or_else(|| Error::damaged("a truncated GIF header"))?;
    let width = u16::from_le_bytes([w0, w1]).into();
    let height = u16::from_le_bytes([h0, h1]).into();
    limits.check(width, height)?;
    Ok(Header {
        format: InputFormat::Gif,
        width,
        height,
        orientation: Orientation::NoTransforms,
        channels: Channels::Rgba,
        // RGBA of the screen, and palette indices and RGBA of a frame that does not fill the screen.
        decode_memory: 9 * u64::from(width) * u64::from(height) + (1 << 20),
    })
}

pub(super) fn decode(file: &[u8], header: &Header) -> Result<DecodedImage, Error> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let mut decoder = options.read_info(file).map_err(Error::damaged)?;
    let screen = (decoder.width(), decoder.height());
    if (u32::from(screen.0), u32::from(screen.1)) != (header.width, header.height) {
        return Err(header_mismatch());
    }
    let profile = decoder.icc_profile().map(<[u8]>::to_vec);
    let frame = decoder.next_frame_info().map_err(Error::damaged)?;
    let frame = frame.ok_or_else(|| Error::damaged("a GIF without a frame"))?;
    let (size, left, top) = ((frame.width, frame.height), usize::from(frame.left), usize::from(frame.top));

    let mut bytes = header.buffer()?;
    if (size, left, top) == (screen, 0, 0) {
        decoder.read_into_buffer(&mut bytes).map_err(Error::damaged)?;
    } else {
        let frame_bytes = decoder.buffer_size();
        if frame_bytes > bytes.len() {
            return Err(Error::damaged("a GIF frame larger than the logical screen"));
        }
        let mut pixels = vec![0; frame_bytes];
        decoder.read_into_buffer(&mut pixels).map_err(Error::damaged)?;
        let rows = bytes.chunks_exact_mut(4 * usize::from(screen.0)).skip(top);
        for (row, frame_row) in rows.zip(pixels.chunks_exact(4 * usize::from(size.0).max(1))) {
            let visible = row.get_mut(4 * left..).unwrap_or_default();
            let length = visible.len().min(frame_row.len());
            visible[..length].copy_from_slice(&frame_row[..length]);
        }
    }
    Ok(header.decoded_image(bytes, ColourSpace::from_icc(profile)))
}
