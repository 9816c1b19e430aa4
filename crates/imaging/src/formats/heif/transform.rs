//! How a decoded HEIF item is shown: its clean aperture, its rotation and mirroring.

use super::still::Still;
use crate::error::Error;
use crate::isobmff::{Meta, Reader};
use crate::orient::Orientation;

/// The part of a picture that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Window {
    /// The clean aperture (`clap`), or all.
    pub(crate) fn read(meta: &Meta, id: u32, still: &Still) -> Result<Self, Error> {
        let Some(clap) = meta.property(id, b"clap") else {
            return Ok(Self { left: 0, top: 0, width: still.width, height: still.height });
        };
        let mut clap = Reader(clap);
        let mut number = || Some((clap.u32()?, clap.u32()?));
        let numbers = number().zip(number()).zip(number()).zip(number());
        let window = numbers.and_then(|(((width, height), x), y)| {
            let (left, width) = cut(still.width, width, x)?;
            let (top, height) = cut(still.height, height, y)?;
            Some(Self { left, top, width, height })
        });
        // The limits are checked on the window only, so it must not hide a picture of another magnitude;
        // small pictures are padded to whole blocks. What was cut away is never shown: it may be private.
        let near = |whole: u32, part: u32| u64::from(whole) <= 2 * u64::from(part) + 64;
        let fair = |w: &Self| near(still.width, w.width) && near(still.height, w.height);
        window.filter(fair).ok_or(Error::Unsupported("a HEIF picture that is cropped in this way"))
    }
}

/// Start and length of what is left of a side, in whole pixels. Numbers are fractions, and `offset` is from
/// the centre of the whole to the centre of what is left.
fn cut(whole: u32, side: (u32, u32), offset: (u32, u32)) -> Option<(u32, u32)> {
    let length = side.0.checked_div(side.1).filter(|length| (1..=whole).contains(length))?;
    // Its numerator is signed, unlike the others.
    let (offset, parts) = (i128::from(offset.0.cast_signed()), i128::from(offset.1));
    let start = (i128::from(whole - length) * parts + 2 * offset).checked_div_euclid(2 * parts)?;
    u32::try_from(start).ok().filter(|start| *start <= whole - length).map(|start| (start, length))
}

/// Rotations and mirrorings in their order. HEIF readers ignore an EXIF orientation.
pub(crate) fn orientation(meta: &Meta, id: u32) -> Orientation {
    let (mut turns, mut mirrored) = (0_u32, false);
    for (name, body) in meta.properties(id) {
        match (name, body.first()) {
            (b"irot", Some(angle)) => {
                // Rotations are against the clock, and with it once mirrored.
                let left = u32::from(angle & 3);
                turns += if mirrored { left } else { 4 - left };
            }
            (b"imir", Some(axis)) => {
                // To swap top and bottom is to swap left and right and make half a turn.
                turns += if axis & 1 == 0 { 2 } else { 0 };
                mirrored = !mirrored;
            }
            _ => {}
        }
    }
    match (turns % 4, mirrored) {
        (0, false) => Orientation::NoTransforms,
        (1, false) => Orientation::Rotate90,
        (2, false) => Orientation::Rotate180,
        (_, false) => Orientation::Rotate270,
        (0, true) => Orientation::FlipHorizontal,
        (1, true) => Orientation::Rotate90FlipH,
        (2, true) => Orientation::FlipVertical,
        (_, true) => Orientation::Rotate270FlipH,
    }
}
