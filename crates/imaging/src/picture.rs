//! What a decoder returns: the header of a file, and its picture as stored.

use crate::error::Error;
use crate::input_format::InputFormat;
use crate::orient::Orientation;
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) format: InputFormat,
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

/// The meaning of the numbers in the pixels.
#[derive(Debug)]
pub(crate) enum Colours {
    /// Also where a file has no colour information.
    Srgb,
    /// A colour profile, not yet parsed.
    Icc(Vec<u8>),
    /// By their numbers in ITU-T H.273.
    Cicp { primaries: u8, transfer: u8 },
}

impl Colours {
    pub(crate) fn from_profile(profile: Option<Vec<u8>>) -> Self {
        profile.map_or(Self::Srgb, Self::Icc)
    }
}

#[derive(Debug)]
pub(crate) enum Raster {
    Planes(Planes),
    Pixels(Pixels),
}

impl Header {
    /// A buffer for exactly the pixels that the header announced.
    pub(crate) fn buffer(&self) -> Result<Vec<u8>, Error> {
        let size = self.channels.size(self.width, self.height);
        Ok(vec![0; usize::try_from(size).map_err(Error::internal)?])
    }

    pub(crate) fn picture(&self, bytes: Vec<u8>, colours: Colours) -> Picture {
        let pixels = Pixels { width: self.width, height: self.height, channels: self.channels, bytes };
        Picture { raster: Raster::Pixels(pixels), colours }
    }
}

/// The `N` bytes at a position, if the file is that long.
pub(crate) fn bytes_at<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..)?.first_chunk().copied()
}

pub(crate) fn other_picture() -> Error {
    Error::damaged("the decoder found another picture than the header announced")
}
