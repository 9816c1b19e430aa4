//! A parameter of a statement, for either database.

use model::{PhotoId, PostId, Timestamp, TokenHash, UserId};

/// A statement and its parameters.
pub(crate) type Bound<'a> = (&'static str, &'a [Value<'a>]);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// A photo's id.
    Uuid(&'a [u8; 16]),
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

impl From<PostId> for Value<'_> {
    fn from(id: PostId) -> Self {
        Self::Int(id.0)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(moment: Timestamp) -> Self {
        Self::Int(moment.micros())
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
