//! Probe: format, size and peak memory from the header. Takes microseconds, or milliseconds for a lossless
//! WebP with many prefix codes.

use model::{Size, fit_dimensions, master_sides};

use crate::decoded_image::Header;
use crate::error::Error;
use crate::formats;
use crate::input_format::InputFormat;
use crate::limits::Limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    pub format: InputFormat,
    /// After applying the EXIF orientation.
    pub width: u32,
    pub height: u32,
    /// Upper bound of the bytes [`ingest`](crate::ingest) allocates at once, including its stripped copy of
    /// the file but not the file itself. Callers reserve this amount from a memory budget.
    pub memory: u64,
}

/// Parses the header and checks it against the limits. Decodes nothing.
pub fn probe(file: &[u8], limits: &Limits) -> Result<Probe, Error> {
    let header = formats::header(file, limits)?;
    let (width, height) = oriented_size(&header);
    Ok(Probe { format: header.format, width, height, memory: peak_memory(&header) + file.len() as u64 })
}

/// Width and height after applying the orientation.
pub(crate) fn oriented_size(header: &Header) -> (u32, u32) {
    header.orientation.apply_to_size((header.width, header.height))
}

/// Bytes per pixel of the largest master during colour conversion, orientation and encoding: the pixels
/// twice, and an encoded file that may be larger than its pixels for noise, more so if it is lossless.
const ENCODE_BYTES_PER_PIXEL_OPAQUE: u64 = 12;
const ENCODE_BYTES_PER_PIXEL_ALPHA: u64 = 24;

/// An ICC profile, the tables built from it, and other memory that does not depend on the image size.
const FIXED_BYTES: u64 = 12 << 20;

/// A resize has a table for each side: Lanczos reads six pixels for each of the longer of source and target,
/// with a coefficient in `f64` and one in 16 bits.
const RESAMPLER_BYTES_PER_SIDE_PIXEL: u64 = 6 * 10 + 16;

/// The larger of two peaks: while the decoded image is allocated, and after it is freed.
fn peak_memory(header: &Header) -> u64 {
    let Header { width, height, channels, .. } = *header;
    let (short_side, long_side) = (width.min(height), width.max(height));
    let square = master_sides(short_side).next().unwrap_or(short_side);
    let (fit_width, fit_height) = fit_dimensions(width, height, Size::MAX.into());
    let square_bytes = channels.byte_len(square, square);
    // The largest and one of a megapixel.
    let fit_bytes = match width == height {
        true => 0,
        false => channels.byte_len(fit_width, fit_height) + channels.byte_len(1024, 1032),
    };

    // The vertically resized strip at full width and one channel of it, then the resized images.
    let strip =
        |width: u32, height: u32| channels.byte_len(width, height) + u64::from(width) * u64::from(height);
    let strips = strip(short_side, square).max(if fit_bytes > 0 { strip(long_side, fit_height) } else { 0 });
    let tables = RESAMPLER_BYTES_PER_SIDE_PIXEL * (u64::from(width) + u64::from(height));
    let resizing = strips + tables + 2 * square_bytes + 2 * fit_bytes;
    let bytes_per_pixel = match channels.has_alpha() {
        true => ENCODE_BYTES_PER_PIXEL_ALPHA,
        false => ENCODE_BYTES_PER_PIXEL_OPAQUE,
    };
    let encoding = bytes_per_pixel * u64::from(square) * u64::from(square) + 2 * fit_bytes;

    (header.decode_memory + resizing).max(encoding) + FIXED_BYTES
}
