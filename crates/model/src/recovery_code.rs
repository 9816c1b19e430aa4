//! Recovery codes: one-time secrets that a person keeps to set a new password without the old one.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::{TokenHash, ValidationError};

/// Without letters and digits that look alike.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Characters of a code, each of 5 random bits: 80 bits cannot be guessed, so a fast hash is enough.
const LENGTH: usize = 16;

/// Characters between two dashes.
const GROUP: usize = 4;

/// A recovery code. It grants access to the account once, so it is never stored or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode([u8; LENGTH]);

impl RecoveryCode {
    pub fn new(random: [u8; LENGTH]) -> Self {
        Self(random.map(|byte| ALPHABET[usize::from(byte % 32)]))
    }

    /// The text form to write down, such as `abcd-efgh-ijkm-npqr`.
    pub fn reveal(&self) -> String {
        let groups: Vec<_> = self.0.chunks(GROUP).map(String::from_utf8_lossy).collect();
        groups.join("-")
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }
}

/// Accepts any case, and dashes and spaces anywhere.
impl FromStr for RecoveryCode {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let invalid = || ValidationError::new(format!("a recovery code has {LENGTH} letters and digits"));
        let kept = raw.bytes().filter(|byte| *byte != b'-' && !byte.is_ascii_whitespace());
        let code: Vec<u8> = kept.map(|byte| byte.to_ascii_lowercase()).collect();
        if !code.iter().all(|byte| ALPHABET.contains(byte)) {
            return Err(invalid());
        }
        code.try_into().map(Self).map_err(|_| invalid())
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_people_write_them() {
        let code = RecoveryCode::new(std::array::from_fn(|at| at as u8 * 16));
        let text = code.reveal();
        assert_eq!(text.len(), 19, "{text}");
        for written in [text.clone(), text.to_uppercase(), text.replace('-', " "), text.replace('-', "")] {
            assert_eq!(written.parse::<RecoveryCode>().map(|code| code.hash()), Ok(code.hash()), "{written}");
        }
        assert!(!format!("{code:?}").contains(&text));
        for raw in
            ["", "abcd-efgh-ijkm-npq", "abcd-efgh-ijkm-npqrs", "abcd-efgh-ijkm-npq1", "ähcd-efgh-ijkm-npq"]
        {
            assert!(raw.parse::<RecoveryCode>().is_err(), "{raw:?} must not parse as a code");
        }
    }
}
