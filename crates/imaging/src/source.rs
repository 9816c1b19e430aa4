//! The formats an upload may have: each reads its own header and decodes its own pixels.

mod avif;
mod gif;
mod heic;
mod heif;
mod jpeg;
mod png;
mod vp8l;
mod webp;
mod ycbcr;

use image::metadata::Orientation;

use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::{Error, Limits};

/// The format of an upload, told by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    Jpeg,
    Png,
    WebP,
    Gif,
    Avif,
    Heic,
}

impl Source {
    /// As in records and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
            Self::WebP => "webp",
            Self::Gif => "gif",
            Self::Avif => "avif",
            Self::Heic => "heic",
        }
    }
}

/// What a header says of its picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) source: Source,
    /// As stored, before the orientation.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) orientation: Orientation,
    pub(crate) channels: Channels,
    /// The most bytes that the decoded picture and its decoder hold at once, where the picture is to become
    /// masters.
    pub(crate) decoding: u64,
}

/// A decoded picture, as stored: neither turned nor in sRGB yet.
pub(crate) struct Picture {
    pub(crate) raster: Raster,
    pub(crate) colours: Colours,
}

/// What the numbers of the pixels mean.
#[derive(Debug)]
pub(crate) enum Colours {
    /// Nothing was said: as on every screen.
    Srgb,
    /// A colour profile, not yet read.
    Icc(Vec<u8>),
    /// By their numbers in ITU-T H.273.
    Cicp { primaries: u8, transfer: u8 },
}

impl Colours {
    fn from_profile(profile: Option<Vec<u8>>) -> Self {
        profile.map_or(Self::Srgb, Self::Icc)
    }
}

#[derive(Debug)]
pub(crate) enum Raster {
    Planes(Planes),
    Pixels(Pixels),
}

pub(crate) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let header = match source_of(file) {
        Some(Source::Jpeg) => jpeg::header(file, limits)?,
        Some(Source::Png) => png::header(file, limits)?,
        Some(Source::WebP) => webp::header(file, limits)?,
        Some(Source::Gif) => gif::header(file, limits)?,
        Some(Source::Avif) => avif::header(file, limits)?,
        Some(Source::Heic) => heic::header(file, limits)?,
        None => return Err(Error::Unsupported("this kind of file")),
    };
    let Header { width, height, decoding, .. } = header;
    if decoding > MAX_DECODING {
        let megapixels = u64::from(width) * u64::from(height) / 1_000_000 * MAX_DECODING / decoding;
        return Err(Error::TooLarge { width, height, max_pixels: megapixels * 1_000_000 });
    }
    Ok(header)
}

/// Whatever the limits allow, no picture may take more than this, or one alone would break the ceiling of the
/// whole service. Met by large pictures of wasteful kinds: JPEGs with full colour in passes, lossless WebPs.
const MAX_DECODING: u64 = 400 << 20;

impl Limits {
    /// Comes before anything is worked out from the size: there are claims that no number can hold.
    fn check(&self, width: u32, height: u32) -> Result<(), Error> {
        let max_pixels = self.max_pixels;
        match u64::from(width) * u64::from(height) {
            0 => Err(Error::damaged("the header gives no size")),
            pixels if pixels > max_pixels => Err(Error::TooLarge { width, height, max_pixels }),
            _ => Ok(()),
        }
    }
}

/// The decoders find their own way through the file. If one of them ends up at another picture than
/// its header reader did, the limits were checked on the wrong one: that is an error, not a picture.
///
/// The picture may come out smaller than the header says, though not below `side` pixels in each direction
/// if it has so many: a decoder that can leave out what nobody will see does.
pub(crate) fn decode(file: &[u8], header: &Header, side: u32) -> Result<Picture, Error> {
    match header.source {
        Source::Jpeg => jpeg::decode(file, header, side),
        Source::Png => png::decode(file, header),
        Source::WebP => webp::decode(file, header),
        Source::Gif => gif::decode(file, header),
        Source::Avif => avif::decode(file, header),
        Source::Heic => heic::decode(file, header),
    }
}

fn source_of(file: &[u8]) -> Option<Source> {
    match file {
        [0xFF, 0xD8, 0xFF, ..] => Some(Source::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Source::Png),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Source::WebP),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Source::Gif),
        _ => heif::source_of(file),
    }
}

impl Header {
    /// A buffer for exactly the pixels the header announced.
    fn buffer(&self) -> Result<Vec<u8>, Error> {
        let size = self.channels.size(self.width, self.height);
        Ok(vec![0; usize::try_from(size).map_err(Error::internal)?])
    }

    fn picture(&self, bytes: Vec<u8>, colours: Colours) -> Picture {
        let pixels = Pixels { width: self.width, height: self.height, channels: self.channels, bytes };
        Picture { raster: Raster::Pixels(pixels), colours }
    }
}

/// The `N` bytes at a place, if the file is that long.
fn bytes_at<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..)?.first_chunk().copied()
}

/// The orientation an EXIF block asks for; upright where it is silent or broken, as viewers do.
fn orientation(exif: Option<&[u8]>) -> Orientation {
    exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms)
}

fn other_picture() -> Error {
    Error::damaged("the decoder found another picture than the header announced")
}
