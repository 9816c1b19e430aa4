//! The size of a square image, as in its URL.

use std::fmt;
use std::str::FromStr;

use crate::ValidationError;

/// The side of a square image, 1 to 2048 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size(u16);

impl Size {
    pub const MAX: u16 = 2048;

    pub fn new(side: u16) -> Result<Self, ValidationError> {
        match side {
            1..=Self::MAX => Ok(Self(side)),
            _ => Err(ValidationError::new(format!("an image is 1 to {} pixels wide", Self::MAX))),
        }
    }

    pub fn side(self) -> u32 {
        self.0.into()
    }
}

/// Parses `512x512`: two equal numbers.
impl FromStr for Size {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let malformed = || ValidationError::new("an image size is written like 512x512");
        let (width, height) = raw.split_once('x').ok_or_else(malformed)?;
        if !is_number(width) || !is_number(height) {
            return Err(malformed());
        }
        if width != height {
            return Err(ValidationError::new("width and height must be equal, as in 512x512"));
        }
        // A number that overflows is larger than the maximum as well.
        Self::new(width.parse().unwrap_or(u16::MAX))
    }
}

fn is_number(raw: &str) -> bool {
    !raw.is_empty() && raw.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{0}x{0}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_equal_sides_within_the_limits() {
        for (raw, side) in [("1x1", 1), ("512x512", 512), ("2048x2048", 2048)] {
            assert_eq!(raw.parse::<Size>().map(Size::side), Ok(side));
        }
        for raw in [
            "",
            "x",
            "512",
            "512x",
            "x512",
            "512x511",
            "0x0",
            "2049x2049",
            "70000x70000",
            "-1x-1",
            "+5x+5",
            "5X5",
            "5x5x5",
            "axa",
            "5.0x5.0",
        ] {
            assert!(raw.parse::<Size>().is_err(), "{raw:?} must not parse as a size");
        }
    }
}
