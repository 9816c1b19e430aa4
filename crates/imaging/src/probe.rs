//! What a file is and what reading it will cost, told from its header: in microseconds, or some milliseconds
//! for a lossless WebP of many code tables.

use model::master_sides;

use crate::error::Error;
use crate::formats;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::orient::Orientation;
use crate::picture::Header;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    pub format: InputFormat,
    /// Of the upright picture, after its EXIF orientation.
    pub width: u32,
    pub height: u32,
    /// The most bytes [`ingest`](crate::ingest) of this file will hold at once, beyond the file itself: its
    /// stripped copy among them.
    /// An upper bound, so that a budget kept with it is kept.
    pub memory: u64,
}

/// Reads the header, believes nothing in it that the limits forbid, and decodes nothing.
pub fn probe(file: &[u8], limits: &Limits) -> Result<Probe, Error> {
    let header = formats::header(file, limits)?;
    let (width, height) = upright(&header);
    Ok(Probe { format: header.format, width, height, memory: memory(&header) + file.len() as u64 })
}

/// Width and height of the picture as it is looked at.
pub(crate) fn upright(header: &Header) -> (u32, u32) {
    let lies = matches!(
        header.orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    );
    if lies { (header.height, header.width) } else { (header.width, header.height) }
}

/// Bytes per pixel of the top master while it is coloured, turned and encoded: the pixels twice, and a
/// file that may outgrow them when they are noise, more so if it must be lossless.
const FINISHING_OPAQUE: u64 = 12;
const FINISHING_ALPHA: u64 = 24;

/// A colour profile, tables made from it, and what else does not grow with the picture.
const FIXED: u64 = 12 << 20;

/// The larger of two peaks: with the decoded picture in memory, and after it is let go.
fn memory(header: &Header) -> u64 {
    let short = header.width.min(header.height);
    let top = master_sides(short).next().unwrap_or(short);

    // A strip of the full width, one channel of it, then the square.
    let channel = u64::from(short) * u64::from(top);
    let resizing = header.channels.size(short, top) + channel + 2 * header.channels.size(top, top);
    let finishing = match header.channels.has_alpha() {
        true => FINISHING_ALPHA,
        false => FINISHING_OPAQUE,
    };
    let finishing = finishing * u64::from(top) * u64::from(top);

    (header.decoding + resizing).max(finishing) + FIXED
}
