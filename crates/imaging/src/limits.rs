//! Limits for uploads.

use crate::error::Error;

/// Longer than any camera makes one. The tables of the resampler grow with the sides and not with their
/// product.
pub(crate) const MAX_SIDE: u32 = 65_535;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Width times height as declared by the header.
    pub max_pixels: u64,
}

impl Limits {
    /// Call it before computing anything from the declared size, which may overflow.
    pub(crate) fn check(&self, width: u32, height: u32) -> Result<(), Error> {
        let max_pixels = self.max_pixels;
        match u64::from(width) * u64::from(height) {
            0 => Err(Error::damaged("the header gives no size")),
            pixels if pixels > max_pixels => Err(Error::TooLarge { width, height, max_pixels }),
            _ if width.max(height) > MAX_SIDE => Err(Error::TooLong { width, height, max_side: MAX_SIDE }),
            _ => Ok(()),
        }
    }
}
