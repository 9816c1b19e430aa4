//! A secret, which is never printed.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in constant time for guesses of one length.
    pub fn matches(&self, guess: &[u8]) -> bool {
        let secret = self.0.as_bytes();
        let differences = secret.iter().zip(guess).fold(0, |seen, (a, b)| black_box(seen | (a ^ b)));
        secret.len() == guess.len() && differences == 0
    }
}

/// Only visible ASCII, because a client sends it in a header. The error does not quote the value.
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
    fn a_secret_matches_only_itself_and_is_not_printed() {
        let secret: Secret = "s3cret".parse().unwrap();
        assert!(secret.matches(b"s3cret"));
        for guess in ["", "s3cre", "s3cret!", "S3cret", "s3creT"] {
            assert!(!secret.matches(guess.as_bytes()), "{guess:?} matches the secret");
        }
        assert_eq!(format!("{secret:?}"), "(hidden)");
        for raw in ["", "two words", "line\n", "clé"] {
            assert!(raw.parse::<Secret>().is_err(), "{raw:?} was accepted as a token");
        }
    }
}
