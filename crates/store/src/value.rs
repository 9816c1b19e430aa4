//! A statement parameter, for both backends.

use std::fmt;

use model::{PhotoId, PostId, ReportId, Timestamp, TokenHash, UserId};

/// A statement and its parameters.
pub(crate) type BoundStatement<'a> = (&'static str, &'a [Value<'a>]);

/// Ordered as both databases order the values of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// A photo's id.
    Uuid(&'a [u8; 16]),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Int(value) => value.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Uuid(bytes) => PhotoId::from_bytes(**bytes).fmt(f),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }
}

impl From<UserId> for Value<'_> {
    fn from(id: UserId) -> Self {
        Self::Int(id.0)
    }
}

impl From<ReportId> for Value<'_> {
    fn from(id: ReportId) -> Self {
        Self::Int(id.0)
    }
}

impl From<PostId> for Value<'_> {
    fn from(id: PostId) -> Self {
        Self::Int(id.0)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(time: Timestamp) -> Self {
        Self::Int(time.micros())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a PhotoId> for Value<'a> {
    fn from(id: &'a PhotoId) -> Self {
        Self::Uuid(id.as_bytes())
    }
}

impl<'a> From<Option<&'a PhotoId>> for Value<'a> {
    fn from(id: Option<&'a PhotoId>) -> Self {
        id.map_or(Self::Null, Self::from)
    }
}

impl<'a> From<&'a TokenHash> for Value<'a> {
    fn from(hash: &'a TokenHash) -> Self {
        Self::Bytes(&hash.0)
    }
}
