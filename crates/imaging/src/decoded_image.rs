//! The decoder interface: the parsed header of a file and the decoded image.

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::orient::Orientation;
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) format: InputFormat,
    /// As stored, before the orientation is applied.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) orientation: Orientation,
    pub(crate) channels: Channels,
    /// Peak memory of the decoded image and its decoder when decoding for ingest.
    pub(crate) decode_memory: u64,
}

/// A decoded image as stored: before orientation and colour conversion.
pub(crate) struct DecodedImage {
    pub(crate) raster: Raster,
    pub(crate) colour_space: ColourSpace,
}

/// The colour space of the decoded pixels.
#[derive(Debug)]
pub(crate) enum ColourSpace {
    /// Also if the file has no colour information.
    Srgb,
    /// An ICC profile, not parsed yet.
    Icc(Vec<u8>),
    /// Code points of ITU-T H.273.
    Cicp { primaries: u8, transfer: u8 },
}

impl ColourSpace {
    pub(crate) const DISPLAY_P3: Self = Self::Cicp { primaries: 12, transfer: 13 };

    pub(crate) fn from_icc(profile: Option<Vec<u8>>) -> Self {
        profile.map_or(Self::Srgb, Self::Icc)
    }
}

#[derive(Debug)]
pub(crate) enum Raster {
    Planes(Planes),
    Pixels(Pixels),
}

impl Header {
    /// A zeroed buffer for the pixels declared by the header.
    pub(crate) fn buffer(&self) -> Result<Vec<u8>, Error> {
        let size = self.channels.byte_len(self.width, self.height);
        Ok(vec![0; usize::try_from(size).map_err(Error::internal)?])
    }

    pub(crate) fn decoded_image(&self, bytes: Vec<u8>, colour_space: ColourSpace) -> DecodedImage {
        let pixels = Pixels { width: self.width, height: self.height, channels: self.channels, bytes };
        DecodedImage { raster: Raster::Pixels(pixels), colour_space }
    }
}

/// The `N` bytes at an offset, or None beyond the end of the file.
pub(crate) fn bytes_at<const N: usize>(file: &[u8], offset: usize) -> Option<[u8; N]> {
    file.get(offset..)?.first_chunk().copied()
}

pub(crate) fn header_mismatch() -> Error {
    Error::damaged("the decoded image does not match the header")
}
