//! One row for each input format: how its files are recognized, read and stripped.

mod avif;
mod gif;
mod heic;
mod heif;
mod jpeg;
mod png;
mod webp;

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::Removed;
use crate::picture::{Header, Picture};

struct Codec {
    /// Whether the first bytes of a file are those of this format.
    sniff: fn(&[u8]) -> bool,
    header: fn(&[u8], &Limits) -> Result<Header, Error>,
    /// The last number is the side below which the picture must not be scaled down.
    decode: fn(&[u8], &Header, u32) -> Result<Picture, Error>,
    strip: fn(&[u8], &mut Removed) -> Result<Vec<u8>, Error>,
}

fn codec(format: InputFormat) -> Codec {
    match format {
        InputFormat::Jpeg => Codec {
            sniff: |file| file.starts_with(b"\xFF\xD8\xFF"),
            header: jpeg::header,
            decode: jpeg::decode,
            strip: jpeg::strip::strip,
        },
        InputFormat::Png => Codec {
            sniff: |file| file.starts_with(b"\x89PNG\r\n\x1A\n"),
            header: png::header,
            decode: |file, header, _| png::decode(file, header),
            strip: png::strip::strip,
        },
        InputFormat::WebP => Codec {
            sniff: |file| matches!(file, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]),
            header: webp::header,
            decode: |file, header, _| webp::decode(file, header),
            strip: webp::strip::strip,
        },
        InputFormat::Gif => Codec {
            sniff: |file| file.starts_with(b"GIF87a") || file.starts_with(b"GIF89a"),
            header: gif::header,
            decode: |file, header, _| gif::decode(file, header),
            strip: gif::strip::strip,
        },
        InputFormat::Avif => Codec {
            sniff: |file| heif::coding(file) == Some(heif::Coding::Av1),
            header: avif::header,
            decode: |file, header, _| avif::decode(file, header),
            strip: heif::strip::strip,
        },
        InputFormat::Heic => Codec {
            sniff: |file| heif::coding(file) == Some(heif::Coding::Hevc),
            header: heic::header,
            decode: |file, header, _| heic::decode(file, header),
            strip: heif::strip::strip,
        },
    }
}

/// Whatever the limits allow, no picture may take more than this, or one alone would break the memory limit
/// of the whole service. Only large pictures of wasteful kinds do: progressive JPEGs in full colour, lossless
/// WebPs.
const MAX_DECODING: u64 = 400 << 20;

pub(crate) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let format = InputFormat::ALL.into_iter().find(|format| (codec(*format).sniff)(file));
    let format = format.ok_or(Error::Unsupported("this kind of file"))?;
    let header = (codec(format).header)(file, limits)?;
    let Header { width, height, decoding, .. } = header;
    if decoding > MAX_DECODING {
        let megapixels = u64::from(width) * u64::from(height) / 1_000_000 * MAX_DECODING / decoding;
        return Err(Error::TooLarge { width, height, max_pixels: megapixels * 1_000_000 });
    }
    Ok(header)
}

/// The decoders parse the file themselves. If one of them finds another picture than the header reader did,
/// the limits were checked on the wrong one: that is an error, not a picture.
///
/// The picture may come out smaller than the header says, though not below `side` pixels in each direction
/// if it has so many: the JPEG decoder can skip detail that is not needed.
pub(crate) fn decode(file: &[u8], header: &Header, side: u32) -> Result<Picture, Error> {
    (codec(header.format).decode)(file, header, side)
}

/// The file with the same coded pixels, byte for byte, and without metadata, and what was removed.
///
/// No pixel is decoded. Each format lists what is kept, so unknown kinds of metadata are removed as well. So
/// is the orientation in an EXIF block, which must be read before. A file that was cut short comes out
/// properly ended, with as many of its pixels as it had.
pub fn strip(file: &[u8], format: InputFormat) -> Result<(Vec<u8>, Removed), Error> {
    let mut removed = Removed::default();
    let kept = (codec(format).strip)(file, &mut removed)?;
    Ok((kept, removed))
}
