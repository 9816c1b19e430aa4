//! The size of a square image, as it stands in its address.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// One side of a square, 1 to 2048 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size(u16);

impl Size {
    pub const MAX: u16 = 2048;

    pub fn new(side: u16) -> Result<Self, Invalid> {
        match side {
            1..=Self::MAX => Ok(Self(side)),
            _ => Err(Invalid(format!("an image is 1 to {} pixels wide", Self::MAX))),
        }
    }

    pub fn side(self) -> u32 {
        self.0.into()
    }
}

/// `512x512`: two equal numbers.
impl FromStr for Size {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        let form = || Invalid("an image size is written like 512x512".into());
        let (width, height) = raw.split_once('x').ok_or_else(form)?;
        if !is_number(width) || !is_number(height) {
            return Err(form());
        }
        if width != height {
            return Err(Invalid("width and height must be equal, as in 512x512".into()));
        }
        // Too many digits for the type are too many pixels for the rule.
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
    fn reads_equal_sides_within_bounds() {
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
            assert!(raw.parse::<Size>().is_err(), "{raw:?} passed for a size");
        }
    }
}
