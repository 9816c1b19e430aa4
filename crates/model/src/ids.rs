//! Identifiers, each its own type: a mix-up does not compile. Those that number rows stand with what they
//! number.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::{Invalid, Timestamp};

/// Declares the id of a row, a type of its own.
macro_rules! numeric_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(raw: &str) -> Result<Self, $crate::Invalid> {
                $crate::ids::parse_id(raw).map(Self)
            }
        }
    };
}

pub(crate) use numeric_id;

/// Only the one spelling we print ourselves: no sign, no leading zero, nothing past 64 bits.
pub(crate) fn parse_id(raw: &str) -> Result<i64, Invalid> {
    match raw.parse() {
        Ok(id) if raw.starts_with(|first| matches!(first, '1'..='9')) => Ok(id),
        _ => Err(Invalid("an id is a positive whole number".into())),
    }
}

/// A photo, named by a UUID of version 7: its time makes neighbours in the database, its 74 random
/// bits make it unguessable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PhotoId(Uuid);

impl PhotoId {
    pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(now.micros() / 1_000).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// As it is shown, without the machinery of [`fmt`].
    pub fn written(self, room: &mut [u8; 36]) -> &str {
        self.0.as_hyphenated().encode_lower(room)
    }

    /// When it was made, to the millisecond. An id that is not from us has some time as well.
    pub fn made_at(&self) -> Timestamp {
        let millis = self.as_bytes()[..6].iter().fold(0, |millis, byte| (millis << 8) | i64::from(*byte));
        Timestamp::from_micros(millis * 1_000)
    }
}

impl fmt::Display for PhotoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

impl FromStr for PhotoId {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        // `Uuid` also reads braced, URN and bare forms; one picture keeps one address.
        match Uuid::try_parse(raw) {
            Ok(uuid) if raw.len() == 36 => Ok(Self(uuid)),
            _ => Err(Invalid("a photo id is a UUID".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photo_ids_round_trip_in_one_spelling() {
        let id = PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [7; 10]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id.to_string().replace('-', "").parse::<PhotoId>().is_err());
        assert!(format!("{{{id}}}").parse::<PhotoId>().is_err());
    }

    #[test]
    fn photo_ids_know_when_they_were_made() {
        let moment = Timestamp::from_micros(1_763_200_000_123_456);
        assert_eq!(PhotoId::new(moment, [7; 10]).made_at(), Timestamp::from_micros(1_763_200_000_123_000));
        assert_eq!(
            PhotoId::from_bytes([0xff; 16]).made_at(),
            Timestamp::from_micros(((1 << 48) - 1) * 1_000)
        );
    }
}
