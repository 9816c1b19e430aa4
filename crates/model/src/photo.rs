//! A photo, and the sides of its masters: the square images stored at the upload, from which every requested
//! size is rendered.

use smallvec::SmallVec;

use crate::{Alt, PhotoId, Size, ValidationError};

/// A ThumbHash, which clients show until the image has loaded. Inline, since it has about 25 bytes.
pub type Placeholder = SmallVec<[u8; 32]>;

/// The longest ThumbHash, of a photo with transparency.
const MAX_PLACEHOLDER: usize = 25;

/// The most pixels that `max_megapixels` can allow.
const MAX_PIXELS: u64 = 1_000_000_000;

/// For the placeholder of a foreign row.
pub fn validate_placeholder(placeholder: &[u8]) -> Result<(), ValidationError> {
    match placeholder.len() {
        0..=MAX_PLACEHOLDER => Ok(()),
        length => Err(ValidationError(format!(
            "a placeholder has at most {MAX_PLACEHOLDER} bytes, this one {length}"
        ))),
    }
}

/// For the width and height of a foreign row.
pub fn validate_dimensions(width: u32, height: u32) -> Result<(), ValidationError> {
    match u64::from(width) * u64::from(height) {
        1..=MAX_PIXELS => Ok(()),
        _ => Err(ValidationError(format!(
            "a photo has 1 to {MAX_PIXELS} pixels, which {width} x {height} is not"
        ))),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photo {
    pub id: PhotoId,
    /// Of the upload, after its orientation was applied.
    pub width: u32,
    pub height: u32,
    pub placeholder: Placeholder,
    pub alt: Option<Alt>,
}

impl Photo {
    pub fn short_side(&self) -> u32 {
        self.width.min(self.height)
    }
}

/// The sides of the masters below the largest one.
const PYRAMID: [u32; 3] = [1024, 512, 256];

/// The sides of a photo's masters, largest first. The largest is the photo's short side, up to [`Size::MAX`];
/// the smaller ones spare a render most of the decoding.
pub fn master_sides(short_side: u32) -> impl Iterator<Item = u32> {
    let top = short_side.min(Size::MAX.into());
    std::iter::once(top).chain(PYRAMID.into_iter().filter(move |side| *side < top))
}

/// The side of the smallest master that is at least as large as `size`, or else of the largest one.
pub fn master_for(short_side: u32, size: Size) -> u32 {
    let fits = |side: &u32| *side >= size.side();
    master_sides(short_side).filter(fits).last().unwrap_or(short_side.min(Size::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_are_never_larger_than_the_photo() {
        for (short, sides) in [
            (3024, vec![2048, 1024, 512, 256]),
            (2048, vec![2048, 1024, 512, 256]),
            (1024, vec![1024, 512, 256]),
            (700, vec![700, 512, 256]),
            (100, vec![100]),
            (1, vec![1]),
        ] {
            assert_eq!(master_sides(short).collect::<Vec<_>>(), sides, "short side {short}");
        }
    }

    #[test]
    fn foreign_photos_have_pixels_and_a_short_placeholder() {
        for (width, height, is_valid) in
            [(1, 1, true), (40_000, 25_000, true), (0, 5, false), (u32::MAX, u32::MAX, false)]
        {
            assert_eq!(validate_dimensions(width, height).is_ok(), is_valid, "{width} x {height}");
        }
        assert!(validate_placeholder(&[0; 25]).is_ok() && validate_placeholder(&[0; 26]).is_err());
    }

    #[test]
    fn a_size_is_rendered_from_the_next_larger_master() {
        for (short, size, master) in [
            (3024, 1, 256),
            (3024, 256, 256),
            (3024, 257, 512),
            (3024, 2048, 2048),
            (700, 600, 700),
            (700, 2000, 700),
            (100, 50, 100),
            (100, 512, 100),
        ] {
            assert_eq!(master_for(short, Size::new(size).unwrap()), master, "{size} of {short}");
        }
    }
}
