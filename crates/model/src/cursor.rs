//! The pagination cursor of lists (keyset pagination): inserts and deletes do not shift the next page.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ValidationError;

/// The id of the last item of a page: the next page begins below it. It stays valid after that item is
/// deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor(pub i64);

/// The first byte of an encoded cursor: a later encoding gets another version.
const VERSION: u8 = 1;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [VERSION; 9];
        bytes[1..].copy_from_slice(&self.0.to_be_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Cursor {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let bytes: Option<[u8; 9]> = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|b| b.try_into().ok());
        match bytes {
            Some([VERSION, id @ ..]) => Ok(Self(i64::from_be_bytes(id))),
            _ => Err(ValidationError::new(
                "after is not a cursor of this service; take it from paging.next unchanged",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip_and_other_text_is_rejected() {
        let cursor = Cursor(1_234_567);
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for raw in ["", "7", "AAAAAAAAAAAA", "AQAAAAAAAAAAA", "%%%"] {
            assert!(raw.parse::<Cursor>().is_err(), "{raw:?} must not parse as a cursor");
        }
    }
}
