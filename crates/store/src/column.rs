//! The Rust types of columns: how each is read from a row, bound as a parameter, and written to a backup as
//! JSON.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{PhotoId, Placeholder, PostId, Text, TextRule, Timestamp, TokenHash, UserId, Username};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::row::Row;
use crate::value::Value;

pub(crate) trait Column: Sized {
    /// Less than any value of a key.
    const LEAST: Value<'static>;

    fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error>;

    fn read_nullable(row: &Row<'_, '_>, at: usize) -> Result<Option<Self>, Error> {
        if row.is_null(at)? { Ok(None) } else { Self::read(row, at).map(Some) }
    }

    fn value(&self) -> Value<'_>;

    fn from_json(json: Json) -> Option<Self>;

    /// What a backup means by leaving the column out: one from before a nullable column existed can be
    /// restored.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Column> Column for Option<T> {
    const LEAST: Value<'static> = Value::Null;

    fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
        T::read_nullable(row, at)
    }

    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }

    fn from_json(json: Json) -> Option<Self> {
        if let Json::Null = json { Some(None) } else { T::from_json(json).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

macro_rules! integers {
    ($($Type:ty: $from:expr, $to:expr;)*) => {$(
        impl Column for $Type {
            const LEAST: Value<'static> = Value::Int(i64::MIN);

            fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
                let value = row.int(at)?;
                $from(value).ok_or_else(|| Error::Corrupt(format!("{value} in column {at}")))
            }

            fn value(&self) -> Value<'_> {
                Value::Int($to(self))
            }

            fn from_json(json: Json) -> Option<Self> {
                if let Json::Int(value) = json { $from(value) } else { None }
            }
        }
    )*};
}

integers! {
    i64: Some, |value: &i64| *value;
    u32: |value| u32::try_from(value).ok(), |value: &u32| i64::from(*value);
    // A length: no disk holds more than fit.
    u64: |value| u64::try_from(value).ok(), |value: &u64| i64::try_from(*value).unwrap_or(i64::MAX);
    UserId: |id| Some(UserId(id)), |id: &UserId| id.0;
    PostId: |id| Some(PostId(id)), |id: &PostId| id.0;
    Timestamp: |micros| Some(Timestamp::from_micros(micros)), |moment: &Timestamp| moment.micros();
}

macro_rules! texts {
    ($([$($rule:tt)*] $Type:ty: $from:expr, $to:expr;)*) => {$(
        impl<$($rule)*> Column for $Type {
            const LEAST: Value<'static> = Value::Text("");

            fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
                row.text(at).map($from)
            }

            fn read_nullable(row: &Row<'_, '_>, at: usize) -> Result<Option<Self>, Error> {
                Ok(row.optional_text(at)?.map($from))
            }

            fn value(&self) -> Value<'_> {
                Value::Text($to(self))
            }

            fn from_json(json: Json) -> Option<Self> {
                if let Json::Text(text) = json { Some($from(text)) } else { None }
            }
        }
    )*};
}

texts! {
    [] String: |text| text, String::as_str;
    [] Username: Username::stored, Username::as_str;
    [Rule: TextRule] Text<Rule>: Text::stored, Text::as_str;
}

macro_rules! bytes {
    ($($Type:ty: $from:expr, $to:expr;)*) => {$(
        impl Column for $Type {
            const LEAST: Value<'static> = Value::Bytes(&[]);

            fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
                let value = row.read_bytes(at, $from)?;
                value.ok_or_else(|| Error::Corrupt(format!("a wrong number of bytes in column {at}")))
            }

            fn value(&self) -> Value<'_> {
                Value::Bytes($to(self))
            }

            fn from_json(json: Json) -> Option<Self> {
                if let Json::Text(text) = json { $from(&STANDARD.decode(text).ok()?) } else { None }
            }
        }
    )*};
}

bytes! {
    Placeholder: |bytes: &[u8]| Some(Placeholder::from_slice(bytes)), Placeholder::as_slice;
    TokenHash: |bytes: &[u8]| Some(TokenHash(bytes.try_into().ok()?)), token_bytes;
}

fn token_bytes(hash: &TokenHash) -> &[u8] {
    &hash.0
}

impl Column for PhotoId {
    const LEAST: Value<'static> = Value::Uuid(&[0; 16]);

    fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
        row.photo_id(at)
    }

    fn value(&self) -> Value<'_> {
        self.into()
    }

    fn from_json(json: Json) -> Option<Self> {
        if let Json::Text(text) = json { text.parse().ok() } else { None }
    }
}

/// A column's value in a backup.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Json {
    Null,
    Int(i64),
    Text(String),
}

/// Bytes as base64, a photo's id in its usual form.
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_none(),
            Self::Int(value) => to.serialize_i64(*value),
            Self::Text(text) => to.serialize_str(text),
            Self::Bytes(bytes) => to.serialize_str(&STANDARD.encode(bytes)),
            Self::Uuid(bytes) => to.collect_str(&PhotoId::from_bytes(**bytes)),
        }
    }
}

/// Writes a row as an object.
pub(crate) fn serialize<S: Serializer>(
    columns: &[&'static str],
    values: &[Value<'_>],
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut object = to.serialize_map(Some(columns.len()))?;
    for (column, value) in columns.iter().zip(values) {
        object.serialize_entry(column, value)?;
    }
    object.end()
}

/// The values of an object in the order of a table's columns. An unknown key is an error: its value would be
/// lost.
pub(crate) struct Fields {
    columns: &'static [&'static str],
    values: Vec<Option<Json>>,
    next: usize,
}

impl Fields {
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        columns: &'static [&'static str],
        from: D,
    ) -> Result<Self, D::Error> {
        from.deserialize_map(FieldsVisitor { columns })
    }

    pub(crate) fn next<T: Column, E: serde::de::Error>(&mut self) -> Result<T, E> {
        let (column, value) = (self.columns[self.next], self.values[self.next].take());
        self.next += 1;
        match value {
            Some(json) => T::from_json(json).ok_or_else(|| E::custom(format!("invalid value of `{column}`"))),
            None => T::absent().ok_or_else(|| E::missing_field(column)),
        }
    }
}

struct FieldsVisitor {
    columns: &'static [&'static str],
}

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {}", self.columns.join(", "))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Fields, A::Error> {
        let columns = self.columns;
        let mut values: Vec<Option<Json>> = columns.iter().map(|_| None).collect();
        while let Some(key) = object.next_key::<String>()? {
            let at = columns.iter().position(|column| *column == key);
            let at = at.ok_or_else(|| A::Error::unknown_field(&key, columns))?;
            if values[at].replace(object.next_value()?).is_some() {
                return Err(A::Error::duplicate_field(columns[at]));
            }
        }
        Ok(Fields { columns, values, next: 0 })
    }
}
