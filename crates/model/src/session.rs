//! The secret that carries a session, and what we keep of it.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::Invalid;

/// 256 random bits. Whoever holds it is the user, so it is never stored and never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// The written form, as it travels in a cookie or a header.
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }
}

impl FromStr for Token {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        let bytes = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|b| b.try_into().ok());
        bytes.map(Self).ok_or_else(|| Invalid("not a session token".into()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What the database holds: enough to recognise a token, useless to become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_keeps_itself_out_of_logs() {
        let token = Token::new([9; 32]);
        assert_eq!(token.reveal().parse::<Token>().map(|t| t.hash()), Ok(token.hash()));
        assert!(!format!("{token:?}").contains(&token.reveal()));
        for raw in ["", "x", "AAAA", &"A".repeat(44)] {
            assert!(raw.parse::<Token>().is_err());
        }
    }
}
