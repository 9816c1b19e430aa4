//! A place in the feed that does not move when posts come and go.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::{Invalid, PostId};

/// "Everything older than this post". It stays a place even when that post is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor(pub PostId);

/// First byte of the written form, so that a later scheme can tell its own anchors from ours.
const SCHEME: u8 = 1;

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [SCHEME; 9];
        bytes[1..].copy_from_slice(&self.0.0.to_be_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Anchor {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        let bytes: Option<[u8; 9]> = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|b| b.try_into().ok());
        match bytes {
            Some([SCHEME, id @ ..]) => Ok(Self(PostId(i64::from_be_bytes(id)))),
            _ => Err(Invalid(
                "after is not an anchor of this service; take it from paging.next unchanged".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses_anything_else() {
        let anchor = Anchor(PostId(1_234_567));
        assert_eq!(anchor.to_string().parse(), Ok(anchor));
        for raw in ["", "7", "AAAAAAAAAAAA", "AQAAAAAAAAAAA", "%%%"] {
            assert!(raw.parse::<Anchor>().is_err(), "{raw:?} passed for an anchor");
        }
    }
}
