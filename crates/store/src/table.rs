//! Declares a table by its columns, once. The row type, the statements that name every column, and reading
//! and writing a row are generated from them.

use model::ValidationError;

use crate::column::Column;
use crate::error::Error;
use crate::row::Row;
use crate::value::Value;

/// A row with all its columns.
pub(crate) trait TableRow: Sized {
    const TABLE: &'static str;
    const COLUMNS: &'static [&'static str];
    /// The column names, separated by commas.
    const COLUMN_LIST: &'static str;
    /// The names of the columns of the primary key.
    const KEY: &'static [&'static str];
    /// Selects up to `EXPORT_PAGE` rows after a key, in the order of the primary key.
    const EXPORT: &'static str;
    const INSERT: &'static str;
    /// Inserts all columns but the first, the id, which the sequence assigns.
    const INSERT_NEW: &'static str;
    /// Selects the largest id of a table whose ids come from a sequence.
    const LARGEST_ID: Option<&'static str>;

    /// Reads the columns from the start of a result row.
    fn read(row: &Row<'_, '_>) -> Result<Self, Error>;

    /// The parameters of `INSERT`.
    fn values(&self) -> Vec<Value<'_>>;

    /// Checks the rule of each column; the error names the column.
    fn validate(&self) -> Result<(), ValidationError>;

    /// The parameters of `EXPORT` for the rows after this one.
    fn key(&self) -> Vec<Value<'_>>;

    /// The parameters of `EXPORT` for the first rows.
    fn least_key() -> Vec<Value<'static>>;
}

/// The `LIMIT` of `EXPORT`.
pub(crate) const EXPORT_PAGE: usize = 500;

/// Declares a table: its row type, its name, its primary key, `sequence` if a sequence assigns its ids (then
/// `id` is the first column), and its columns in the order in which they are selected, inserted and exported.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $Row:ident = $table:literal, key ($($key:ident),+) $(, $sequence:ident)? {
            $first:ident: $First:ty,
            $($column:ident: $Type:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $Row {
            pub $first: $First,
            $(pub $column: $Type,)+
        }

        impl $crate::table::TableRow for $Row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[stringify!($first), $(stringify!($column)),+];
            const COLUMN_LIST: &'static str = $crate::table::column_list!($first $($column)+);
            const KEY: &'static [&'static str] = &[$(stringify!($key)),+];
            const EXPORT: &'static str = concat!(
                "SELECT ", $crate::table::column_list!($first $($column)+), " FROM ", $table,
                " WHERE (", $crate::table::column_list!($($key)+), ") > (", $crate::table::parameters!($($key)+), ")",
                " ORDER BY ", $crate::table::column_list!($($key)+), " LIMIT 500",
            );
            const INSERT: &'static str = concat!(
                "INSERT INTO ", $table, " (", $crate::table::column_list!($first $($column)+), ")",
                " VALUES (", $crate::table::parameters!($first $($column)+), ")",
            );
            const INSERT_NEW: &'static str = concat!(
                "INSERT INTO ", $table, " (", $crate::table::column_list!($($column)+), ")",
                " VALUES (", $crate::table::parameters!($($column)+), ")",
            );
            const LARGEST_ID: Option<&'static str> = $crate::table::largest_id!($table $($sequence)?);

            fn read(row: &$crate::row::Row<'_, '_>) -> Result<Self, $crate::error::Error> {
                let mut at = 0;
                Ok(Self {
                    $first: $crate::table::next(row, &mut at)?,
                    $($column: $crate::table::next(row, &mut at)?,)+
                })
            }

            fn values(&self) -> Vec<$crate::value::Value<'_>> {
                use $crate::column::Column;
                vec![self.$first.value(), $(self.$column.value()),+]
            }

            fn validate(&self) -> Result<(), model::ValidationError> {
                $crate::column::validate(stringify!($first), &self.$first)?;
                $($crate::column::validate(stringify!($column), &self.$column)?;)+
                Ok(())
            }

            fn key(&self) -> Vec<$crate::value::Value<'_>> {
                use $crate::column::Column;
                vec![$(self.$key.value()),+]
            }

            fn least_key() -> Vec<$crate::value::Value<'static>> {
                vec![$($crate::table::least(|row: &Self| &row.$key)),+]
            }
        }

        impl serde::Serialize for $Row {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use $crate::table::TableRow;
                $crate::column::serialize(Self::COLUMNS, &self.values(), to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Row {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let columns = <Self as $crate::table::TableRow>::COLUMNS;
                let mut fields = $crate::column::Fields::deserialize(columns, from)?;
                Ok(Self { $first: fields.next()?, $($column: fields.next()?,)+ })
            }
        }
    };
}

/// Column names, separated by commas.
macro_rules! column_list {
    ($first:ident $($rest:ident)*) => {
        concat!(stringify!($first) $(, ", ", stringify!($rest))*)
    };
}

/// `$1, $2, …`, one for each column.
macro_rules! parameters {
    ($first:ident $($rest:ident)*) => {
        concat!("$1", $crate::table::parameters!(
            @ [
                ", $2" ", $3" ", $4" ", $5" ", $6" ", $7" ", $8" ", $9" ", $10" ", $11" ", $12" ", $13" ", $14" ", $15" ", $16"
                ", $17" ", $18" ", $19" ", $20" ", $21" ", $22" ", $23" ", $24" ", $25" ", $26" ", $27" ", $28" ", $29" ", $30"
            ]
            $($rest)*
        ))
    };
    (@ [$($unused:literal)*]) => { "" };
    (@ [$next:literal $($later:literal)*] $name:ident $($rest:ident)*) => {
        concat!($next, $crate::table::parameters!(@ [$($later)*] $($rest)*))
    };
}

macro_rules! largest_id {
    ($table:literal) => {
        None
    };
    ($table:literal sequence) => {
        Some(concat!("SELECT coalesce(max(id), 0) FROM ", $table))
    };
}

pub(crate) use {column_list, largest_id, parameters, table};

/// The index of a column. A name that is none does not compile.
pub(crate) const fn column(columns: &[&str], name: &str) -> usize {
    let mut index = 0;
    while !is_equal(columns[index].as_bytes(), name.as_bytes()) {
        index += 1;
    }
    index
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Reads column `at` and advances `at`.
pub(crate) fn next<T: Column>(row: &Row<'_, '_>, at: &mut usize) -> Result<T, Error> {
    *at += 1;
    T::read(row, *at - 1)
}

/// The lower bound of a key column, by the type of the field that the accessor returns.
pub(crate) fn least<R, T: Column>(_: fn(&R) -> &T) -> Value<'static> {
    T::LEAST
}
