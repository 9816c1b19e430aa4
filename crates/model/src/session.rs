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
        bytes.map(Self).ok_or_else(|| ValidationError::new("not a session token"))
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

impl TokenHash {
    pub fn session_id(&self) -> SessionId {
        SessionId(u64::from_be_bytes(self.0[..8].try_into().expect("a hash has 32 bytes")))
    }
}

/// Identifies a session among those of its user: the beginning of its token's hash, which does not reveal the
/// token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for SessionId {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let id = u64::from_str_radix(raw, 16).map(Self).ok();
        id.filter(|id| id.to_string() == raw).ok_or_else(|| ValidationError::new("not the id of a session"))
    }
}

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

    #[test]
    fn the_id_of_a_session_has_one_text_form() {
        let id = TokenHash([0x0a; 32]).session_id();
        assert_eq!((id.to_string().as_str(), id.to_string().parse()), ("0a0a0a0a0a0a0a0a", Ok(id)));
        for raw in ["", "a0a0a0a0a0a0a0a", "0A0A0A0A0A0A0A0A", "+a0a0a0a0a0a0a0a", "0a0a0a0a0a0a0a0a0"] {
            assert!(raw.parse::<SessionId>().is_err(), "{raw:?} must not parse as the id of a session");
        }
    }
}
