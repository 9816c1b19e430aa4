//! The Rust types of columns: how each is read from a row, bound as a parameter, and converted to and from
//! the JSON of a backup.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{
    Focus, Network, PhotoId, Placeholder, PostId, ReportId, RequestDigest, Role, Status, Text, TextRule,
    Timestamp, TokenHash, UserId, Username, ValidationError, validate_placeholder,
};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::row::Row;
use crate::value::Value;

pub(crate) trait Column: Sized {
    /// A lower bound of all keys, where an export starts.
    const LEAST: Value<'static>;

    fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error>;

    fn read_nullable(row: &Row<'_, '_>, at: usize) -> Result<Option<Self>, Error> {
        if row.is_null(at)? { Ok(None) } else { Self::read(row, at).map(Some) }
    }

    fn value(&self) -> Value<'_>;

    fn from_json(json: Json) -> Option<Self>;

    /// The rule of the model, for the value of a foreign row: it was never parsed by the API.
    fn validate(&self) -> Result<(), ValidationError> {
        Ok(())
    }

    /// The value of a column that a backup does not contain: NULL for a nullable column, so that a backup
    /// from before the column existed can be restored.
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

    fn validate(&self) -> Result<(), ValidationError> {
        self.as_ref().map_or(Ok(()), T::validate)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

macro_rules! integers {
    ($($Type:ty: $from:expr, $to:expr, $rule:expr;)*) => {$(
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

            fn validate(&self) -> Result<(), ValidationError> {
                $rule(*self)
            }
        }
    )*};
}

integers! {
    i64: Some, |value: &i64| *value, |_| Ok(());
    u32: |value| u32::try_from(value).ok(), |value: &u32| i64::from(*value), |_| Ok(());
    // A length in bytes, which never exceeds `i64::MAX`.
    u64: |value| u64::try_from(value).ok(), |value: &u64| i64::try_from(*value).unwrap_or(i64::MAX), |_| Ok(());
    UserId: |id| Some(UserId(id)), |id: &UserId| id.0, UserId::validate;
    PostId: |id| Some(PostId(id)), |id: &PostId| id.0, PostId::validate;
    ReportId: |id| Some(ReportId(id)), |id: &ReportId| id.0, ReportId::validate;
    Focus: Focus::from_stored, |focus: &Focus| focus.to_stored(), |_| Ok(());
    Network: Network::from_stored, |network: &Network| network.to_stored(), |_| Ok(());
    Timestamp: |micros| Some(Timestamp::from_micros(micros)), |time: &Timestamp| time.micros(), Timestamp::validate;
}

/// False if a backup does not contain it.
impl Column for bool {
    const LEAST: Value<'static> = Value::Int(0);

    fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
        Ok(row.int(at)? != 0)
    }

    fn value(&self) -> Value<'_> {
        Value::Int((*self).into())
    }

    fn from_json(json: Json) -> Option<Self> {
        if let Json::Int(value @ 0..=1) = json { Some(value == 1) } else { None }
    }

    fn absent() -> Option<Self> {
        Some(false)
    }
}

macro_rules! texts {
    ($([$($bound:tt)*] $Type:ty: $from:expr, $to:expr, $rule:expr;)*) => {$(
        impl<$($bound)*> Column for $Type {
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

            fn validate(&self) -> Result<(), ValidationError> {
                $rule($to(self))
            }
        }
    )*};
}

texts! {
    [] String: |text| text, String::as_str, no_nul;
    [] Username: Username::from_stored, Username::as_str, |text: &str| text.parse::<Username>().map(drop);
    [Rule: TextRule] Text<Rule>: Text::from_stored, Text::as_str, Text::<Rule>::validate;
}

macro_rules! words {
    ($($Type:ty, default $default:expr;)*) => {$(
        impl Column for $Type {
            const LEAST: Value<'static> = Value::Text("");

            fn read(row: &Row<'_, '_>, at: usize) -> Result<Self, Error> {
                let word = row.text(at)?;
                word.parse().map_err(|_| Error::Corrupt(format!("{word:?} in column {at}")))
            }

            fn value(&self) -> Value<'_> {
                Value::Text(self.as_str())
            }

            fn from_json(json: Json) -> Option<Self> {
                if let Json::Text(text) = json { text.parse().ok() } else { None }
            }

            fn absent() -> Option<Self> {
                Some($default)
            }
        }
    )*};
}

words! {
    Role, default Role::Member;
    Status, default Status::Active;
}

/// PostgreSQL cannot store NUL in text.
fn no_nul(text: &str) -> Result<(), ValidationError> {
    if text.contains('\0') { Err(ValidationError::new("it contains a NUL character")) } else { Ok(()) }
}

macro_rules! bytes {
    ($($Type:ty: $from:expr, $to:expr, $rule:expr;)*) => {$(
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

            fn validate(&self) -> Result<(), ValidationError> {
                $rule($to(self))
            }
        }
    )*};
}

bytes! {
    Placeholder: |bytes: &[u8]| Some(Placeholder::from_slice(bytes)), Placeholder::as_slice, validate_placeholder;
    TokenHash: |bytes: &[u8]| Some(TokenHash(bytes.try_into().ok()?)), token_bytes, |_| Ok(());
    RequestDigest: |bytes: &[u8]| Some(RequestDigest(bytes.try_into().ok()?)), digest_bytes, |_| Ok(());
}

fn token_bytes(hash: &TokenHash) -> &[u8] {
    &hash.0
}

fn digest_bytes(digest: &RequestDigest) -> &[u8] {
    &digest.0
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

/// The error names the column.
pub(crate) fn validate(column: &str, value: &impl Column) -> Result<(), ValidationError> {
    value.validate().map_err(|rule| ValidationError::new(format!("{column}: {rule}")))
}

/// A column's value in a backup.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Json {
    Null,
    Int(i64),
    Text(String),
}

/// Bytes as base64, a photo's id in its text form.
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

/// Serializes a row as a JSON object.
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

/// The values of a JSON object in the order of a table's columns. An unknown key is an error, because its
/// value would be lost.
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
