//! A value that is used but never shown.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Takes the same time however much of a guess is right.
    pub fn matches(&self, guess: &[u8]) -> bool {
        let secret = self.0.as_bytes();
        let differences = secret.iter().zip(guess).fold(0, |seen, (a, b)| black_box(seen | (a ^ b)));
        secret.len() == guess.len() && differences == 0
    }
}

/// It travels in a header, where spaces and line breaks would not arrive. The error never repeats the value.
impl FromStr for Secret {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("expected visible ASCII characters without spaces".into());
        }
        Ok(Self(raw.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_only_itself_and_is_not_shown() {
        let secret: Secret = "s3cret".parse().unwrap();
        assert!(secret.matches(b"s3cret"));
        for guess in ["", "s3cre", "s3cret!", "S3cret", "s3creT"] {
            assert!(!secret.matches(guess.as_bytes()), "{guess:?} passed for the secret");
        }
        assert_eq!(format!("{secret:?}"), "(hidden)");
        for raw in ["", "two words", "line\n", "clé"] {
            assert!(raw.parse::<Secret>().is_err(), "{raw:?} passed for a token");
        }
    }
}
