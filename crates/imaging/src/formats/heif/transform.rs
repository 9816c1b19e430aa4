//! Transformative item properties of HEIF: clean aperture, rotation and mirroring.

use crate::error::Error;
use crate::isobmff::{Meta, Reader};
use crate::orient::Orientation;

/// The displayed region of an image, in its stored pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CleanAperture {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// Any sequence of crops, rotations and mirrorings: one crop of the stored pixels, then one orientation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transform {
    pub(crate) aperture: CleanAperture,
    /// Clockwise quarter turns before the mirroring.
    rotations: u32,
    mirrored: bool,
}

impl Transform {
    pub(crate) fn none((width, height): (u32, u32)) -> Self {
        let aperture = CleanAperture { left: 0, top: 0, width, height };
        Self { aperture, rotations: 0, mirrored: false }
    }

    /// Applies the transforms of a chain of derived images, which starts with the last of them.
    pub(crate) fn then_all(self, meta: &Meta, chain: &[u32]) -> Result<Self, Error> {
        chain.iter().rev().try_fold(self, |transform, id| transform.then(meta, *id))
    }

    /// Applies the properties `clap`, `irot` and `imir` of an item, in their order. HEIF readers ignore the
    /// EXIF orientation.
    fn then(mut self, meta: &Meta, id: u32) -> Result<Self, Error> {
        for (kind, body) in meta.properties(id) {
            match (kind, body.first()) {
                (b"clap", _) => {
                    let cropped = self.cropped(body);
                    self = cropped.ok_or(Error::Unsupported("a HEIF image with this clean aperture"))?;
                }
                (b"irot", Some(angle)) => {
                    // `irot` is counter-clockwise, which a preceding mirroring reverses.
                    let counter_clockwise = u32::from(angle & 3);
                    self.rotations += if self.mirrored { counter_clockwise } else { 4 - counter_clockwise };
                }
                (b"imir", Some(axis)) => {
                    // A vertical flip is a horizontal flip and a rotation by 180 degrees.
                    self.rotations += if axis & 1 == 0 { 2 } else { 0 };
                    self.mirrored = !self.mirrored;
                }
                _ => {}
            }
        }
        Ok(self)
    }

    pub(crate) fn orientation(&self) -> Orientation {
        match (self.rotations % 4, self.mirrored) {
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

    /// The size after the transform.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.orientation().apply_to_size((self.aperture.width, self.aperture.height))
    }

    /// Crops the displayed image, and so the stored pixels behind it.
    fn cropped(self, clap: &[u8]) -> Option<Self> {
        let mut clap = Reader(clap);
        let mut fraction = || Some((clap.u32()?, clap.u32()?));
        let (width, height, x, y) = (fraction()?, fraction()?, fraction()?, fraction()?);
        let size = self.size();
        let mut columns = crop_axis(size.0, width, x)?;
        let mut rows = crop_axis(size.1, height, y)?;
        let (transpose, flip_x, flip_y) = self.orientation().steps();
        if transpose {
            (columns, rows) = (rows, columns);
        }
        let CleanAperture { left, top, width, height } = self.aperture;
        let stored = |(start, length): (u32, u32), flip: bool, size: u32| {
            if flip { size - start - length } else { start }
        };
        let aperture = CleanAperture {
            left: left + stored(columns, flip_x, width),
            top: top + stored(rows, flip_y, height),
            width: columns.1,
            height: rows.1,
        };
        Some(Self { aperture, ..self })
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
