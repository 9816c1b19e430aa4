//! The size of a rendered image: a square, or the whole photo.

use std::fmt;
use std::str::FromStr;

use crate::{Size, ValidationError};

/// The longest side of an image of the whole photo, 1 to 4096 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FitSize(u16);

impl FitSize {
    pub const MAX: u16 = 4096;

    pub fn new(longest: u16) -> Result<Self, ValidationError> {
        match longest {
            1..=Self::MAX => Ok(Self(longest)),
            _ => Err(ValidationError::new(format!(
                "the longest side of an image is 1 to {} pixels",
                Self::MAX
            ))),
        }
    }

    pub fn longest(self) -> u32 {
        self.0.into()
    }

    /// The size that renders the same image of a photo: no image is larger than its photo.
    pub fn for_photo(self, width: u32, height: u32) -> Self {
        Self(u16::try_from(width.max(height)).map_or(self.0, |longest| longest.min(self.0)).max(1))
    }
}

/// Parses a number without a sign.
impl FromStr for FitSize {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ValidationError::new(
                "the longest side of an image is a number of pixels, such as 1024",
            ));
        }
        // A number that overflows is larger than the maximum as well.
        Self::new(raw.parse().unwrap_or(u16::MAX))
    }
}

/// What an image shows of a photo, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageSize {
    /// The square around the focus.
    Square(Size),
    /// The whole photo.
    Fit(FitSize),
}

impl ImageSize {
    /// Width and height of the image of a photo.
    pub fn dimensions(self, width: u32, height: u32) -> (u32, u32) {
        match self {
            Self::Square(size) => (size.side(), size.side()),
            Self::Fit(size) => fit_dimensions(width, height, size.longest()),
        }
    }
}

/// The name in ETags and in the names of cached files.
impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Square(size) => size.side().fmt(f),
            Self::Fit(size) => write!(f, "fit{}", size.0),
        }
    }
}

impl FromStr for ImageSize {
    type Err = ValidationError;

    fn from_str(name: &str) -> Result<Self, ValidationError> {
        let number = |raw: &str| {
            raw.parse().map_err(|_| ValidationError::new(format!("{name:?} is not an image size")))
        };
        match name.strip_prefix("fit") {
            Some(longest) => FitSize::new(number(longest)?).map(Self::Fit),
            None => Size::new(number(name)?).map(Self::Square),
        }
    }
}

/// The dimensions of a photo with its longest side reduced to `longest`; never enlarged, at least one pixel.
pub fn fit_dimensions(width: u32, height: u32, longest: u32) -> (u32, u32) {
    let long_side = width.max(height);
    if long_side <= longest {
        return (width, height);
    }
    let reduced = |side: u32| {
        let scaled = u64::from(side) * u64::from(longest) + u64::from(long_side) / 2;
        // At most `longest`, which is 32 bits.
        ((scaled / u64::from(long_side)) as u32).max(1)
    };
    (reduced(width), reduced(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_the_whole_photo_keeps_its_aspect_and_is_never_enlarged() {
        for (width, height, longest, expected) in [
            (4032, 3024, 1024, (1024, 768)),
            (3024, 4032, 1024, (768, 1024)),
            (12_000, 1_000, 300, (300, 25)),
            (12_000, 10, 300, (300, 1)),
            (301, 200, 150, (150, 100)),
            (200, 100, 4096, (200, 100)),
            (1, 1, 1, (1, 1)),
            (u32::MAX, 1, 4096, (4096, 1)),
        ] {
            assert_eq!(fit_dimensions(width, height, longest), expected, "{longest} of {width} x {height}");
        }
        let size = FitSize::new(4096).unwrap();
        assert_eq!((size.for_photo(300, 200).longest(), size.for_photo(9000, 2).longest()), (300, 4096));
    }

    #[test]
    fn names_of_sizes_round_trip() {
        for name in ["1", "2048", "fit1", "fit4096"] {
            assert_eq!(name.parse::<ImageSize>().unwrap().to_string(), name);
        }
        for name in ["", "0", "2049", "fit", "fit0", "fit4097", "fitx", "x"] {
            assert!(name.parse::<ImageSize>().is_err(), "{name:?} must not parse as an image size");
        }
        for raw in ["", "0", "4097", "99999999999", "+5", "-5", "5.0", "5x5", "fit5"] {
            assert!(raw.parse::<FitSize>().is_err(), "{raw:?} must not parse as a longest side");
        }
    }
}
