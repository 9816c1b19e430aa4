//! The key by which a client marks the retry of an upload, and the digest that tells a retry from another
//! request.

use std::str::FromStr;

use sha2::{Digest, Sha256};

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
            return Err(ValidationError::new(format!(
                "the Idempotency-Key must have 1 to {} visible ASCII characters",
                Self::MAX_LENGTH
            )));
        }
        Ok(Self(raw.to_owned()))
    }
}

/// Identifies what a request asks for, regardless of how its body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDigest(pub [u8; 32]);

impl RequestDigest {
    /// Of the parameters that were sent, by name. One without a value does not count, so that a retry has the
    /// same digest after an upgrade that adds a parameter.
    pub fn of<'a>(parameters: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) -> Self {
        let mut hasher = Sha256::new();
        for (name, value) in parameters {
            let Some(value) = value else { continue };
            // With their lengths, so that the parts of two different requests never join to the same bytes.
            for part in [name.as_bytes(), value] {
                hasher.update((part.len() as u64).to_be_bytes());
                hasher.update(part);
            }
        }
        Self(hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_each_parameter_that_has_a_value() {
        let digest = |parameters: &[(&'static str, Option<&'static [u8]>)]| {
            RequestDigest::of(parameters.iter().copied())
        };
        let of_both = digest(&[("a", Some(b"1")), ("b", Some(b"2"))]);
        assert_eq!(of_both, digest(&[("a", Some(b"1")), ("later", None), ("b", Some(b"2"))]));
        for other in [
            digest(&[]),
            digest(&[("a", Some(b"1"))]),
            digest(&[("a", Some(b"1")), ("b", Some(b""))]),
            digest(&[("a", Some(b"1b")), ("", Some(b"2"))]),
            digest(&[("a", Some(b"2")), ("b", Some(b"1"))]),
        ] {
            assert_ne!(of_both, other);
        }
    }

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
