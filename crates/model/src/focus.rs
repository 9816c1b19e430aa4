//! The focus point of a photo: the point that its squares are cut around.

use std::fmt;
use std::str::FromStr;

use crate::ValidationError;

/// A point of the upright photo, in ten-thousandths of its width and height from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Focus {
    pub x: u16,
    pub y: u16,
}

/// The factor of `x` in a stored focus: `250005000` is 0.25,0.5.
const STORED_X: i64 = 100_000;

impl Focus {
    pub const SCALE: u16 = 10_000;
    pub const CENTRE: Self = Self { x: Self::SCALE / 2, y: Self::SCALE / 2 };

    /// Where the largest square of a photo begins: its centre is the focus, unless it would leave the photo.
    pub fn square_offset(self, width: u32, height: u32) -> (u32, u32) {
        let side = u64::from(width.min(height));
        let offset = |focus: u16, length: u32| {
            // Half of the square before the focus, in half pixels of a ten-thousandth.
            let centre = 2 * u64::from(focus) * u64::from(length);
            let start = centre.saturating_sub(u64::from(Self::SCALE) * side) / (2 * u64::from(Self::SCALE));
            // At most the length, which is 32 bits.
            start.min(u64::from(length) - side) as u32
        };
        (offset(self.x, width), offset(self.y, height))
    }

    /// As one number, for the database.
    pub fn to_stored(self) -> i64 {
        i64::from(self.x) * STORED_X + i64::from(self.y)
    }

    pub fn from_stored(stored: i64) -> Option<Self> {
        let coordinate = |value: i64| u16::try_from(value).ok().filter(|value| *value <= Self::SCALE);
        Some(Self { x: coordinate(stored / STORED_X)?, y: coordinate(stored % STORED_X)? })
    }

    /// From 0 to 1.
    pub fn fractions(self) -> (f64, f64) {
        let fraction = |at: u16| f64::from(at) / f64::from(Self::SCALE);
        (fraction(self.x), fraction(self.y))
    }
}

impl Default for Focus {
    fn default() -> Self {
        Self::CENTRE
    }
}

/// Parses `0.25,0.5`: two numbers from 0 to 1.
impl FromStr for Focus {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let rule = || ValidationError::new("a focus is two numbers from 0 to 1, such as 0.25,0.5");
        let (x, y) = raw.split_once(',').ok_or_else(rule)?;
        let coordinate = |raw: &str| {
            let value: f64 = raw.trim().parse().map_err(|_| rule())?;
            // Within 0 to 10,000, so nothing is cut off.
            if (0.0..=1.0).contains(&value) {
                Ok((value * f64::from(Self::SCALE)).round() as u16)
            } else {
                Err(rule())
            }
        };
        Ok(Self { x: coordinate(x)?, y: coordinate(y)? })
    }
}

impl fmt::Display for Focus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (x, y) = self.fractions();
        write!(f, "{x},{y}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_focus_is_two_fractions() {
        for (raw, x, y) in [
            ("0,0", 0, 0),
            ("1,1", 10_000, 10_000),
            ("0.25,0.5", 2_500, 5_000),
            (" .3333 , 1e-1", 3_333, 1_000),
        ] {
            assert_eq!(raw.parse(), Ok(Focus { x, y }), "{raw}");
        }
        for raw in ["", "0.5", "0.5,", ",", "0.5,0.5,0.5", "-0.1,0", "0,1.01", "NaN,0", "inf,0", "a,b"] {
            assert!(raw.parse::<Focus>().is_err(), "{raw:?} must not parse as a focus");
        }
        for stored in [-1, 10_001, 10_001 * STORED_X, i64::MAX, i64::MIN] {
            assert_eq!(Focus::from_stored(stored), None, "{stored}");
        }
        for focus in [Focus::CENTRE, Focus { x: 1, y: 9_999 }] {
            assert_eq!(focus.to_string().parse(), Ok(focus));
            assert_eq!(Focus::from_stored(focus.to_stored()), Some(focus));
        }
    }

    #[test]
    fn the_square_is_around_the_focus_and_inside_the_photo() {
        for (width, height, x, y, offset) in [
            (300, 100, 5_000, 5_000, (100, 0)),
            (301, 100, 5_000, 5_000, (100, 0)),
            (300, 100, 0, 0, (0, 0)),
            (300, 100, 10_000, 10_000, (200, 0)),
            (300, 100, 2_500, 0, (25, 0)),
            (100, 300, 0, 7_500, (0, 175)),
            (1, 4_000_000_000, 0, 10_000, (0, 3_999_999_999)),
            (7, 7, 10_000, 0, (0, 0)),
        ] {
            assert_eq!(Focus { x, y }.square_offset(width, height), offset, "{x},{y} of {width} x {height}");
        }
    }
}
