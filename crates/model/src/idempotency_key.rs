//! The key by which a client marks the retry of an upload.

use std::str::FromStr;

use crate::ValidationError;

/// 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub const MAX_LENGTH: usize = 255;

    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let is_valid =
            (1..=Self::MAX_LENGTH).contains(&raw.len()) && raw.bytes().all(|b| b.is_ascii_graphic());
        if !is_valid {
            return Err(ValidationError(format!(
                "the Idempotency-Key must have 1 to {} visible ASCII characters",
                Self::MAX_LENGTH
            )));
        }
        Ok(Self(raw.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_visible_ascii_of_limited_length() {
        let longest = "k".repeat(255);
        for raw in ["k", "a-b/c:1", longest.as_str()] {
            assert_eq!(raw.parse::<IdempotencyKey>().unwrap().into_string(), raw);
        }
        let too_long = "k".repeat(256);
        for raw in ["", "a b", "ä", "a\n", too_long.as_str()] {
            assert!(raw.parse::<IdempotencyKey>().is_err(), "{raw:?} must not parse as a key");
        }
    }
}
