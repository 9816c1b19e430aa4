//! The kept original: the same coded pixels, byte for byte, without anything that tells of a person.
//!
//! Every format is walked, never decoded, and what stays is named, not what goes: a kind of metadata that
//! nobody has thought of yet goes too. So does the orientation in an EXIF block, and whoever shows the file
//! must have read that before.

mod exif;
mod gif;
mod heif;
mod jpeg;
mod photoshop;
mod png;
mod removed;
mod webp;
mod xmp;

pub use removed::{Metadata, Removed};

use crate::{Error, Source};

/// The file without anything but what its pixels need, and what was left out.
///
/// A file that was cut short comes out closed properly, with as much of its pixels as it had.
pub fn strip(file: &[u8], source: Source) -> Result<(Vec<u8>, Removed), Error> {
    let mut removed = Removed::default();
    let kept = match source {
        Source::Jpeg => jpeg::strip(file, &mut removed)?,
        Source::Png => png::strip(file, &mut removed)?,
        Source::WebP => webp::strip(file, &mut removed)?,
        Source::Gif => gif::strip(file, &mut removed)?,
        Source::Avif | Source::Heic => heif::strip(file, &mut removed)?,
    };
    Ok((kept, removed))
}
