//! The imaging engine under test. Every call to its public API goes through this file.

use imaging::{Ingested, InputFormat, Limits, OutputFormat};
use libjpeg_turbo_rs::{PixelFormat, Subsampling};
use model::Size;

use crate::error::Error;

/// What the engine serves pictures in.
pub(crate) const FORMATS: [OutputFormat; 2] = [OutputFormat::Jpeg, OutputFormat::WebP];

/// The side of the squares most rows are about.
pub(crate) const SIDE: u16 = 512;

const LIMITS: Limits = Limits { max_pixels: 100_000_000 };

/// A JPEG straight from an upload, without masters.
pub(crate) fn thumbnail(file: &[u8], side: u16) -> Result<Vec<u8>, Error> {
    Ok(imaging::thumbnail(file, &LIMITS, size(side)?, OutputFormat::Jpeg)?)
}

pub(crate) fn ingest(file: &[u8]) -> Result<Ingested, Error> {
    Ok(imaging::ingest(file, &LIMITS)?)
}

pub(crate) fn render(master: &[u8], side: u16, format: OutputFormat) -> Result<Vec<u8>, Error> {
    Ok(imaging::render(master, size(side)?, format)?)
}

/// Whether this kind of file is one the engine reads at all.
pub(crate) fn reads(file: &[u8]) -> Result<bool, Error> {
    match imaging::probe(file, &LIMITS) {
        Ok(_) => Ok(true),
        Err(imaging::Error::Unsupported(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether this is a JPEG of so many pixels each way.
pub(crate) fn is_square(file: &[u8], side: u16) -> Result<bool, Error> {
    let (found, side) = (imaging::probe(file, &LIMITS)?, u32::from(side));
    Ok((found.format, found.width, found.height) == (InputFormat::Jpeg, side, side))
}

/// The sides of the masters of an upload.
pub(crate) fn master_sides(short_side: u32) -> Vec<u32> {
    model::master_sides(short_side).collect()
}

/// The side of the square a size is rendered from.
pub(crate) fn master_for(short_side: u32, side: u16) -> Result<u32, Error> {
    Ok(model::master_for(short_side, size(side)?))
}

/// Decodes to RGB by the JPEG codec that the engine uses, and does nothing else.
pub(crate) fn plain_decode(file: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(libjpeg_turbo_rs::decompress_to(file, PixelFormat::Rgb).map_err(Error::measure)?.data)
}

/// Decodes to YCbCr planes by the same codec, as the engine reads its masters.
pub(crate) fn planes(file: &[u8]) -> Result<libjpeg_turbo_rs::RawImage, Error> {
    libjpeg_turbo_rs::decompress_raw(file).map_err(Error::measure)
}

/// Encodes a square as JPEG by the same codec, with 4:2:0 chroma subsampling as the engine does.
pub(crate) fn jpeg(rgb: &[u8], side: usize, quality: u8) -> Result<Vec<u8>, Error> {
    let file = libjpeg_turbo_rs::compress(rgb, side, side, PixelFormat::Rgb, quality, Subsampling::S420);
    file.map_err(Error::measure)
}

fn size(side: u16) -> Result<Size, Error> {
    Size::new(side).map_err(|invalid| Error::measure(format!("{side}: {invalid:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stops compiling when the engine gains an output format, which then belongs into the list.
    #[test]
    fn every_format_is_measured() {
        let index = |format| match format {
            OutputFormat::Jpeg => 0,
            OutputFormat::WebP => 1,
        };
        assert_eq!(FORMATS.map(index), [0, 1]);
    }
}
