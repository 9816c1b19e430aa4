//! Converts values to and from PostgreSQL's types by the type of the column: an integer of any width, a photo
//! id as UUID or BYTEA.

use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use model::error_chain;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::error::Error;
use crate::value::Value;

type BoxError = Box<dyn StdError + Sync + Send>;

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        match (*self, kind) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Int(value), &Type::INT8) => out.put_i64(value),
            (Value::Int(value), &Type::INT4) => out.put_i32(value.try_into()?),
            (Value::Int(value), &Type::INT2) => out.put_i16(value.try_into()?),
            (Value::Text(text), &Type::TEXT) => out.put_slice(text.as_bytes()),
            (Value::Bytes(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (Value::Uuid(bytes), &Type::UUID) => out.put_slice(bytes),
            (value, kind) => {
                return Err(format!("{value:?} cannot be stored in a column of type {kind}").into());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::INT2, Type::TEXT, Type::BYTEA, Type::UUID].contains(kind)
    }

    to_sql_checked!();
}

/// An integer of any width.
struct Int(i64);

impl<'a> FromSql<'a> for Int {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, BoxError> {
        let value = match *kind {
            Type::INT2 => i16::from_sql(kind, raw)?.into(),
            Type::INT4 => i32::from_sql(kind, raw)?.into(),
            _ => i64::from_sql(kind, raw)?,
        };
        Ok(Self(value))
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::INT2].contains(kind)
    }
}

/// The 16 bytes of a photo id.
struct Uuid([u8; 16]);

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxError> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(kind: &Type) -> bool {
        [Type::UUID, Type::BYTEA].contains(kind)
    }
}

/// Accepts any value; `Option<NotNull>` tells it from NULL.
struct NotNull;

impl<'a> FromSql<'a> for NotNull {
    fn from_sql(_: &Type, _: &'a [u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Error> {
    row.try_get(column).map_err(|error| Error::Corrupt(error_chain(&error)))
}

pub(crate) fn int(row: &Row, column: usize) -> Result<i64, Error> {
    get::<Int>(row, column).map(|value| value.0)
}

pub(crate) fn uuid(row: &Row, column: usize) -> Result<[u8; 16], Error> {
    get::<Uuid>(row, column).map(|value| value.0)
}

pub(crate) fn is_null(row: &Row, column: usize) -> Result<bool, Error> {
    get::<Option<NotNull>>(row, column).map(|value| value.is_none())
}
