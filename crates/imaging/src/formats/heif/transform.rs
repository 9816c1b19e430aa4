//! Transformative item properties of HEIF: clean aperture, rotation and mirroring.

use super::image_item::ImageItem;
use crate::error::Error;
use crate::isobmff::{Meta, Reader};
use crate::orient::Orientation;

/// The displayed region of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CleanAperture {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl CleanAperture {
    /// The `clap` property, or the whole image.
    pub(crate) fn read(meta: &Meta, id: u32, item: &ImageItem) -> Result<Self, Error> {
        let Some(clap) = meta.property(id, b"clap") else {
            return Ok(Self { left: 0, top: 0, width: item.width, height: item.height });
        };
        let mut clap = Reader(clap);
        let mut fraction = || Some((clap.u32()?, clap.u32()?));
        let fractions = fraction().zip(fraction()).zip(fraction()).zip(fraction());
        let aperture = fractions.and_then(|(((width, height), x), y)| {
            let (left, width) = crop_axis(item.width, width, x)?;
            let (top, height) = crop_axis(item.height, height, y)?;
            Some(Self { left, top, width, height })
        });
        // The limits are checked on the aperture only, so the coded image must not be much larger; small
        // images are padded to whole blocks. The cropped part is never shown: it may be private.
        let near = |coded: u32, visible: u32| u64::from(coded) <= 2 * u64::from(visible) + 64;
        let is_close =
            |aperture: &Self| near(item.width, aperture.width) && near(item.height, aperture.height);
        aperture.filter(is_close).ok_or(Error::Unsupported("a HEIF image with this clean aperture"))
    }
}

/// Start and length of the aperture on one axis, in whole pixels. The values are fractions, and `offset` is
/// the distance between the centres of the image and the aperture.
fn crop_axis(size: u32, length: (u32, u32), offset: (u32, u32)) -> Option<(u32, u32)> {
    let length = length.0.checked_div(length.1).filter(|length| (1..=size).contains(length))?;
    // The numerator of an offset is signed, unlike the others.
    let (offset, denominator) = (i128::from(offset.0.cast_signed()), i128::from(offset.1));
    let start = (i128::from(size - length) * denominator + 2 * offset).checked_div_euclid(2 * denominator)?;
    u32::try_from(start).ok().filter(|start| *start <= size - length).map(|start| (start, length))
}

/// Applies `irot` and `imir` in order. HEIF readers ignore the EXIF orientation.
pub(crate) fn orientation(meta: &Meta, id: u32) -> Orientation {
    let (mut rotations, mut mirrored) = (0_u32, false);
    for (kind, body) in meta.properties(id) {
        match (kind, body.first()) {
            (b"irot", Some(angle)) => {
                // `irot` is counter-clockwise, which a preceding mirroring reverses.
                let counter_clockwise = u32::from(angle & 3);
                rotations += if mirrored { counter_clockwise } else { 4 - counter_clockwise };
            }
            (b"imir", Some(axis)) => {
                // A vertical flip is a horizontal flip and a rotation by 180 degrees.
                rotations += if axis & 1 == 0 { 2 } else { 0 };
                mirrored = !mirrored;
            }
            _ => {}
        }
    }
    match (rotations % 4, mirrored) {
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
