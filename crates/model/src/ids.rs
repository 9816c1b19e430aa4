//! Ids, each a type of its own, so that a mix-up does not compile. The numeric ids are declared beside their
//! entities.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::{Timestamp, ValidationError};

/// Declares the type of a numeric row id.
macro_rules! numeric_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl $name {
            /// For ids of foreign rows.
            pub fn validate(self) -> Result<(), $crate::ValidationError> {
                $crate::ids::validate_id(self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ValidationError;

            fn from_str(raw: &str) -> Result<Self, $crate::ValidationError> {
                $crate::ids::parse_id(raw).map(Self)
            }
        }
    };
}

pub(crate) use numeric_id;

/// Accepts the canonical spelling only: no sign, no leading zero, at most 64 bits.
pub(crate) fn parse_id(raw: &str) -> Result<i64, ValidationError> {
    match raw.parse() {
        Ok(id) if raw.starts_with(|first| matches!(first, '1'..='9')) => Ok(id),
        _ => Err(ValidationError::new("an id is a positive whole number")),
    }
}

/// JSON numbers are exact up to this id, and a sequence that starts after it still has ids to assign.
const MAX_ID: i64 = (1 << 53) - 1;

pub fn validate_id(id: i64) -> Result<(), ValidationError> {
    match id {
        1..=MAX_ID => Ok(()),
        _ => Err(ValidationError::new(format!("{id} is not an id, which is a number from 1 to {MAX_ID}"))),
    }
}

/// The id of a photo, a UUID version 7: the timestamp keeps index inserts local, the 74 random bits make it
/// unguessable.
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

    /// Writes the same text as [`Display`](fmt::Display) into `buffer`, without the cost of a formatter.
    pub fn encode(self, buffer: &mut [u8; 36]) -> &str {
        self.0.as_hyphenated().encode_lower(buffer)
    }

    /// The time in the id, to the millisecond; meaningless in an id that is no UUID version 7.
    pub fn created_at(&self) -> Timestamp {
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
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        // `Uuid` also parses braced, URN and bare forms; only one of them is the photo's URL.
        match Uuid::try_parse(raw) {
            Ok(uuid) if raw.len() == 36 => Ok(Self(uuid)),
            _ => Err(ValidationError::new("a photo id is a UUID")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photo_ids_round_trip_in_the_hyphenated_form_only() {
        let id = PhotoId::new(Timestamp::from_micros(1_763_200_000_000_000), [7; 10]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id.to_string().replace('-', "").parse::<PhotoId>().is_err());
        assert!(format!("{{{id}}}").parse::<PhotoId>().is_err());
    }

    #[test]
    fn foreign_ids_are_positive_and_exact_in_json() {
        for (id, is_valid) in [(1, true), (MAX_ID, true), (0, false), (-1, false), (MAX_ID + 1, false)] {
            assert_eq!(validate_id(id).is_ok(), is_valid, "{id}");
        }
    }

    #[test]
    fn photo_ids_contain_their_creation_time_in_milliseconds() {
        let moment = Timestamp::from_micros(1_763_200_000_123_456);
        assert_eq!(PhotoId::new(moment, [7; 10]).created_at(), Timestamp::from_micros(1_763_200_000_123_000));
        assert_eq!(
            PhotoId::from_bytes([0xff; 16]).created_at(),
            Timestamp::from_micros(((1 << 48) - 1) * 1_000)
        );
    }
}
