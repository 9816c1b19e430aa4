//! The tables of an export, and their row counts. A new table is a new line in [`tables!`] below.
//!
//! `uploads` and `removals` are not exported: their rows refer to files of one particular blob store. Nor are
//! unfinished uploads, exports and imports of accounts, which end with the instance's process or after a day,
//! and the counts of a day. The tags of posts follow from their messages.

use std::fmt;

use model::{ValidationError, validate_id};
use serde::{Deserialize, Deserializer, Serialize};

use crate::account_imports::ImportedPostRow;
use crate::audit_log::AuditRow;
use crate::blocks::{BlockRow, HiddenPostRow};
use crate::error::Error;
use crate::held_names::HeldNameRow;
use crate::idempotency_keys::IdempotencyKeyRow;
use crate::instance_settings::InstanceSettingRow;
use crate::invitations::InvitationRow;
use crate::likes::LikeRow;
use crate::passwords::RecoveryCodeRow;
use crate::photos::PhotoRow;
use crate::posts::PostRow;
use crate::reports::ReportRow;
use crate::row::Row;
use crate::sessions::SessionRow;
use crate::statements::{sql, statements};
use crate::table::TableRow;
use crate::tx::Tx;
use crate::users::UserRow;
use crate::value::Value;

macro_rules! tables {
    ($($name:ident: $Table:ident, $Variant:ident($Row:ident);)*) => {
        /// In the order of an export: a table comes after those that its foreign keys reference.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table {
            $($Table,)*
            /// The last id of each sequence, so that an import does not reuse the ids of deleted rows.
            Sequences,
        }

        /// An exported row with all its columns. It is serialized without the name of its table.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum ExportRow {
            $($Variant($Row),)*
            Sequence(SequenceRow),
        }

        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct TableCounts {
            $(pub $name: u64,)*
            /// Photos whose upload, or whose deletion, is not finished.
            pub uploads: u64,
            pub removals: u64,
        }

        impl Table {
            pub const ALL: [Self; [$(stringify!($name)),*].len() + 1] = [$(Self::$Table,)* Self::Sequences];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Table => $Row::TABLE,)*
                    Self::Sequences => "sequences",
                }
            }

            /// Deserializes an exported row of this table.
            pub fn deserialize<'de, D: Deserializer<'de>>(self, from: D) -> Result<ExportRow, D::Error> {
                match self {
                    $(Self::$Table => $Row::deserialize(from).map(ExportRow::$Variant),)*
                    Self::Sequences => SequenceRow::deserialize(from).map(ExportRow::Sequence),
                }
            }

            /// `None` for the sequences, which are not a table of the schema.
            pub(crate) fn spec(self) -> Option<&'static TableSpec> {
                match self {
                    $(Self::$Table => Some(const { &TableSpec {
                        name: $Row::TABLE,
                        #[cfg(test)]
                        columns: $Row::COLUMNS,
                        export: $Row::EXPORT,
                        insert: $Row::INSERT,
                        largest_id: $Row::LARGEST_ID,
                        least_key: $Row::least_key,
                        read: |row| $Row::read(row).map(ExportRow::$Variant),
                    } }),)*
                    Self::Sequences => None,
                }
            }
        }

        impl ExportRow {
            pub fn table(&self) -> Table {
                match self {
                    $(Self::$Variant(_) => Table::$Table,)*
                    Self::Sequence(_) => Table::Sequences,
                }
            }

            /// The parameters of the table's `insert`.
            pub(crate) fn values(&self) -> Vec<Value<'_>> {
                match self {
                    $(Self::$Variant(row) => row.values(),)*
                    Self::Sequence(row) => vec![row.table.as_str().into(), row.last.into()],
                }
            }

            /// Checks every column by the rules of the model, which a row of another instance may break. The
            /// error names the column.
            pub fn validate(&self) -> Result<(), ValidationError> {
                match self {
                    $(Self::$Variant(row) => row.validate(),)*
                    Self::Sequence(row) => row.validate(),
                }
            }

            fn key_columns(&self) -> &'static [&'static str] {
                match self {
                    $(Self::$Variant(_) => $Row::KEY,)*
                    Self::Sequence(_) => &["table"],
                }
            }

            /// The parameters of the table's `export` for the rows after this one.
            pub(crate) fn key(&self) -> Vec<Value<'_>> {
                match self {
                    $(Self::$Variant(row) => row.key(),)*
                    Self::Sequence(row) => vec![row.table.as_str().into()],
                }
            }
        }

        statements! {
            TABLE_COUNTS = sql!(
                "SELECT ", $("(SELECT count(*) FROM ", $Row::TABLE, "), ",)*
                "(SELECT count(*) FROM uploads), (SELECT count(*) FROM removals)"
            );
        }

        impl TableCounts {
            /// Whether every exported table is empty, but for invitations: a start without an owner makes
            /// one.
            pub fn is_empty(&self) -> bool {
                Self { invitations: 0, uploads: 0, removals: 0, ..*self } == Self::default()
            }

            pub(crate) async fn select(tx: &mut Tx<'_>) -> Result<Self, Error> {
                let counts = tx.first(TABLE_COUNTS, &[], |row| {
                    let mut counts = (0..).map(|at| row.unsigned(at));
                    let mut next = || counts.next().unwrap_or(Ok(0));
                    Ok(Self { $($name: next()?,)* uploads: next()?, removals: next()? })
                });
                counts.await?.ok_or_else(|| Error::Corrupt("an aggregate query returned no row".into()))
            }
        }
    };
}

tables! {
    photos: Photos, Photo(PhotoRow);
    users: Users, User(UserRow);
    sessions: Sessions, Session(SessionRow);
    posts: Posts, Post(PostRow);
    likes: Likes, Like(LikeRow);
    idempotency_keys: IdempotencyKeys, IdempotencyKey(IdempotencyKeyRow);
    recovery_codes: RecoveryCodes, RecoveryCode(RecoveryCodeRow);
    blocks: Blocks, Block(BlockRow);
    hidden_posts: HiddenPosts, HiddenPost(HiddenPostRow);
    reports: Reports, Report(ReportRow);
    audit_log: AuditLog, AuditEntry(AuditRow);
    invitations: Invitations, Invitation(InvitationRow);
    instance_settings: InstanceSettings, InstanceSetting(InstanceSettingRow);
    imported_posts: ImportedPosts, ImportedPost(ImportedPostRow);
    held_names: HeldNames, HeldName(HeldNameRow);
}

/// A table's statements and reader, for export, import and the integrity checks.
pub(crate) struct TableSpec {
    pub(crate) name: &'static str,
    #[cfg(test)]
    pub(crate) columns: &'static [&'static str],
    pub(crate) export: &'static str,
    pub(crate) insert: &'static str,
    pub(crate) largest_id: Option<&'static str>,
    pub(crate) least_key: fn() -> Vec<Value<'static>>,
    pub(crate) read: fn(&Row<'_, '_>) -> Result<ExportRow, Error>,
}

/// The last id of a table's sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceRow {
    pub table: String,
    pub last: i64,
}

impl SequenceRow {
    fn validate(&self) -> Result<(), ValidationError> {
        if !sequences().any(|(known, _)| known == self.table) {
            return Err(ValidationError::new(format!("{:?} is not a table with a sequence", self.table)));
        }
        if self.last == 0 { Ok(()) } else { validate_id(self.last) }
    }
}

impl ExportRow {
    /// Whether an export has this row after `other`, a row of the same table.
    pub fn is_after(&self, other: &Self) -> bool {
        self.key() > other.key()
    }
}

/// The primary key, such as `id 7`.
impl fmt::Display for ExportRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (column, value)) in self.key_columns().iter().zip(self.key()).enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{column} {value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The tables whose ids a sequence assigns, with the statement that selects the largest id.
pub(crate) fn sequences() -> impl Iterator<Item = (&'static str, &'static str)> {
    Table::ALL.into_iter().filter_map(Table::spec).filter_map(|table| Some((table.name, table.largest_id?)))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::sqlite::schema;

    /// Tables that are not exported.
    const NOT_EXPORTED: [&str; 8] = [
        "uploads",
        "removals",
        "account_exports",
        "account_imports",
        "resumable_uploads",
        "upload_parts",
        "post_tags",
        "counted_posts",
    ];

    #[test]
    fn every_table_and_column_of_the_schema_is_exported() {
        let folder = tempfile::tempdir().unwrap();
        let conn = schema::open(&folder.path().join("pinhole.db")).unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let mut schema: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for table in column(&conn, tables) {
            let columns = column(&conn, &format!("SELECT name FROM pragma_table_info('{table}')"));
            schema.insert(table, columns.into_iter().collect());
        }
        for table in NOT_EXPORTED {
            assert!(schema.remove(table).is_some(), "{table} is not in the schema");
        }
        let exported = Table::ALL.into_iter().filter_map(Table::spec).map(|table| {
            (table.name.to_owned(), table.columns.iter().map(|column| (*column).to_owned()).collect())
        });
        assert_eq!(exported.collect::<BTreeMap<String, BTreeSet<String>>>(), schema);

        let autoincrement = "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'";
        let sequences: BTreeSet<String> = sequences().map(|(table, _)| table.to_owned()).collect();
        assert_eq!(column(&conn, autoincrement).into_iter().collect::<BTreeSet<_>>(), sequences);
    }

    fn column(conn: &rusqlite::Connection, sql: &str) -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }
}
