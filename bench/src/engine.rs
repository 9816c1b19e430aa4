//! The imaging engine under test. Every call to its public API goes through this file.

use imaging::{FitMasters, Ingested, InputFormat, Limits, Masters, OutputFormat};
use libjpeg_turbo_rs::{PixelFormat, Subsampling};
use model::{Focus, Size};
use webpx::{EncoderConfig, Unstoppable};

use crate::error::Error;

/// What the engine renders pictures in at a request. AVIF is measured on its own.
pub(crate) const FORMATS: [OutputFormat; 2] = [OutputFormat::Jpeg, OutputFormat::WebP];

/// The side of the squares most rows are about.
pub(crate) const SIDE: u16 = 512;

const LIMITS: Limits = Limits { max_pixels: 100_000_000 };

/// A JPEG straight from an upload, without masters.
pub(crate) fn thumbnail(file: &[u8], side: u16) -> Result<Vec<u8>, Error> {
    Ok(imaging::thumbnail(file, &LIMITS, size(side)?, OutputFormat::Jpeg)?)
}

pub(crate) fn ingest(file: &[u8]) -> Result<Ingested, Error> {
    Ok(imaging::ingest(file, Focus::CENTRE, FitMasters::Initial, &LIMITS)?)
}

/// All masters of an upload, also those that the service makes later.
pub(crate) fn all_masters(file: &[u8]) -> Result<Masters, Error> {
    Ok(imaging::masters_of_original(file, 1, Focus::CENTRE, &LIMITS)?)
}

pub(crate) fn render(master: &[u8], side: u16, format: OutputFormat) -> Result<Vec<u8>, Error> {
    Ok(imaging::render(master, (side.into(), side.into()), format)?)
}

/// The whole photo, from its master.
pub(crate) fn render_fit(master: &[u8], size: (u32, u32), format: OutputFormat) -> Result<Vec<u8>, Error> {
    Ok(imaging::render(master, size, format)?)
}

/// The whole photo, from its original.
pub(crate) fn render_original(original: &[u8], size: (u32, u32)) -> Result<Vec<u8>, Error> {
    Ok(imaging::render_original(original, 1, size, OutputFormat::Jpeg, &LIMITS)?)
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
pub(crate) fn master_for(short_side: u32, side: u16) -> u32 {
    model::smallest_sufficient(model::master_sides(short_side), side.into())
}

/// The longest side of the master that the whole photo is rendered from.
pub(crate) fn fit_master_for((width, height): (u32, u32), longest: u16) -> u32 {
    model::smallest_sufficient(model::fit_master_sides(width, height), longest.into())
}

/// The longest sides of the masters of the whole photo that are made at its upload.
pub(crate) fn fit_master_sides((width, height): (u32, u32)) -> Vec<u32> {
    model::initial_fit_master_sides(width, height).collect()
}

/// The size of the whole photo with this longest side.
pub(crate) fn fit_dimensions((width, height): (u32, u32), longest: u16) -> (u32, u32) {
    model::fit_dimensions(width, height, longest.into())
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

/// Encodes a square as WebP by the codec and with the settings that the engine uses.
pub(crate) fn webp(rgb: &[u8], side: u32, quality: u8) -> Result<Vec<u8>, Error> {
    let config = EncoderConfig::new().quality(quality.into()).method(3);
    let config = config.filter_strength(20).filter_sharpness(5);
    webpx::Encoder::new_rgb(rgb, side, side).config(config).encode(Unstoppable).map_err(Error::measure)
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
            OutputFormat::Avif => 2,
        };
        assert_eq!(FORMATS.map(index), [0, 1]);
    }
}
