//! A photo, and the sides of its masters: the images stored at the upload, from which every requested size is
//! rendered.

use smallvec::SmallVec;

use crate::{Alt, Focus, PhotoId, Size, ValidationError};

/// A ThumbHash, which clients show until the image has loaded. Inline, since it has about 25 bytes.
pub type Placeholder = SmallVec<[u8; 32]>;

/// The longest ThumbHash, of a photo with transparency.
const MAX_PLACEHOLDER: usize = 25;

/// The most pixels that `max_megapixels` can allow.
pub const MAX_PIXELS: u64 = 1_000_000_000;

/// For the placeholder of a foreign row.
pub fn validate_placeholder(placeholder: &[u8]) -> Result<(), ValidationError> {
    match placeholder.len() {
        0..=MAX_PLACEHOLDER => Ok(()),
        length => Err(ValidationError::new(format!(
            "a placeholder has at most {MAX_PLACEHOLDER} bytes, this one {length}"
        ))),
    }
}

/// For the width and height of a foreign row.
pub fn validate_dimensions(width: u32, height: u32) -> Result<(), ValidationError> {
    match u64::from(width) * u64::from(height) {
        1..=MAX_PIXELS => Ok(()),
        _ => Err(ValidationError::new(format!(
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
    /// The point that its squares are cut around.
    pub focus: Focus,
}

impl Photo {
    pub fn is_square(&self) -> bool {
        self.width == self.height
    }
}

/// The sides of the masters below the largest one.
const PYRAMID: [u32; 3] = [1024, 512, 256];

/// The sides of the squares that are a photo's masters, largest first. The largest is the photo's short side,
/// up to [`Size::MAX`]; the smaller ones spare a render most of the decoding.
pub fn master_sides(short_side: u32) -> impl Iterator<Item = u32> {
    let top = short_side.min(Size::MAX.into());
    std::iter::once(top).chain(PYRAMID.into_iter().filter(move |side| *side < top))
}

/// The longest sides of the masters of the whole photo, largest first; none of a square photo, whose squares
/// are the whole. The smaller ones have as many pixels as the squares, so that rendering costs the same.
pub fn fit_master_sides(width: u32, height: u32) -> impl Iterator<Item = u32> {
    let (long_side, short_side) = (u64::from(width.max(height)), u64::from(width.min(height).max(1)));
    let top = long_side.min(Size::MAX.into());
    let levels =
        PYRAMID.into_iter().map(move |side| (u64::from(side).pow(2) * long_side / short_side).isqrt());
    let sides = std::iter::once(top).chain(levels.filter(move |side| *side < top));
    // At most 2048.
    sides.map(|side| side as u32).filter(move |_| width != height)
}

/// Those of the masters of the whole photo that are made at the upload: up to a megapixel. A larger one would
/// take a quarter of an upload's time, and is made when it is first requested.
pub fn initial_fit_master_sides(width: u32, height: u32) -> impl Iterator<Item = u32> {
    let (long_side, short_side) = (u64::from(width.max(height)), u64::from(width.min(height)));
    let is_small = move |side: &u32| u64::from(*side).pow(2) * short_side <= (1 << 20) * long_side;
    fit_master_sides(width, height).filter(is_small)
}

/// The smallest of the masters that is at least as large as an image, or else the largest one.
pub fn smallest_sufficient(sides: impl Iterator<Item = u32>, image_side: u32) -> u32 {
    sides
        .fold(None, |best, side| match best {
            Some(_) if side < image_side => best,
            _ => Some(side),
        })
        .unwrap_or(image_side)
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
    fn masters_of_the_whole_photo_have_as_many_pixels_as_squares() {
        for (width, height, sides) in [
            (4032, 3024, vec![2048, 1182, 591, 295]),
            (3024, 4032, vec![2048, 1182, 591, 295]),
            (12_000, 3_000, vec![2048, 1024, 512]),
            (700, 350, vec![700, 362]),
            (100_000, 1, vec![2048]),
            (3, 2, vec![3]),
            (500, 500, vec![]),
        ] {
            assert_eq!(fit_master_sides(width, height).collect::<Vec<_>>(), sides, "{width} x {height}");
            let initial: Vec<u32> = initial_fit_master_sides(width, height).collect();
            let expected = if width * height > 3_000_000 && width < 5_000 { &sides[1..] } else { &sides[..] };
            assert_eq!(initial, expected, "{width} x {height}");
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
            assert_eq!(smallest_sufficient(master_sides(short), size), master, "{size} of {short}");
        }
    }
}
