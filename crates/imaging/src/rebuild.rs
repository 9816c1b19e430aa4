//! Rebuild: encodes lost masters again, from the stored original or from another master.

use model::Focus;

use crate::decoded_image::Header;
use crate::encode::{self, OutputFormat};
use crate::error::Error;
use crate::formats;
use crate::ingest::{
    FitMasters, Master, Masters, catch_codec_panic, encode_master, encode_masters, upright_image,
};
use crate::limits::Limits;
use crate::orient::Orientation;
use crate::probe;
use crate::region::Output;
use crate::render::decode_master;

/// Encodes all masters of a stored original: the same bytes as [`ingest`](crate::ingest). `orientation` is
/// the EXIF orientation of the upload, which its stripped copy lacks. Needs at most the memory
/// [`probe`](crate::probe) returns.
pub fn masters_of_original(
    original: &[u8],
    orientation: u8,
    focus: Focus,
    limits: &Limits,
) -> Result<Masters, Error> {
    catch_codec_panic(|| {
        let header = original_header(original, orientation, limits)?;
        Ok(encode_masters(original, &header, focus, FitMasters::All)?.0)
    })
}

/// Renders the whole photo at this width and height from its original, for sizes beyond the largest master.
/// An original that is smaller is not enlarged. Needs the memory of [`masters_of_original`] and of
/// [`render_memory`](crate::render_memory).
pub fn render_original(
    original: &[u8],
    orientation: u8,
    size: (u32, u32),
    format: OutputFormat,
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    catch_codec_panic(|| {
        let header = original_header(original, orientation, limits)?;
        let (width, height) = probe::oriented_size(&header);
        let size = if width < size.0 || height < size.1 { (width, height) } else { size };
        let image = upright_image(original, &header, size.0.min(size.1), Output::Fit(size))?;
        encode::output(image, format)
    })
}

fn original_header(original: &[u8], orientation: u8, limits: &Limits) -> Result<Header, Error> {
    let mut header = formats::header(original, limits)?;
    if let Some(orientation) = Orientation::from_exif(orientation.into()) {
        header.orientation = orientation;
    }
    Ok(header)
}

/// Encodes a master of this width and height from another one of the same photo. Needs at most the memory
/// [`render_memory`](crate::render_memory) returns.
pub fn master_of_master(master: &[u8], size: (u32, u32)) -> Result<Master, Error> {
    catch_codec_panic(|| encode_master(&decode_master(master, size)?))
}
