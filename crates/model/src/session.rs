//! Session tokens, and the hashes of them that are stored.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::ValidationError;

/// A bearer token of 256 random bits. It grants access to the account, so it is never stored or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// The text form for a cookie or the `Authorization` header.
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }
}

impl FromStr for Token {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let bytes = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|b| b.try_into().ok());
        bytes.map(Self).ok_or_else(|| ValidationError("not a session token".into()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The SHA-256 of a token, as stored in the database: a leaked row cannot be used to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_are_redacted_in_debug_output() {
        let token = Token::new([9; 32]);
        assert_eq!(token.reveal().parse::<Token>().map(|t| t.hash()), Ok(token.hash()));
        assert!(!format!("{token:?}").contains(&token.reveal()));
        for raw in ["", "x", "AAAA", &"A".repeat(44)] {
            assert!(raw.parse::<Token>().is_err(), "{raw:?} must not parse as a token");
        }
    }
}
