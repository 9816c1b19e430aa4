//! Everything the database knows, in a form that belongs to no database: what backups and moves are made of.
//!
//! A fact is a row with all its columns, as they lie there. Claims and notes of removal are no facts: they are about
//! bytes in one blob store, and stay behind with it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::PhotoId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Where facts come from, in an order in which each finds what it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Photos,
    Users,
    Sessions,
    Posts,
    Likes,
    IdempotencyKeys,
    /// The last ids that were handed out: those of deleted rows never come back.
    Sequences,
}

impl Table {
    pub const ALL: [Self; 7] = [
        Self::Photos,
        Self::Users,
        Self::Sessions,
        Self::Posts,
        Self::Likes,
        Self::IdempotencyKeys,
        Self::Sequences,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Photos => "photos",
            Self::Users => "users",
            Self::Sessions => "sessions",
            Self::Posts => "posts",
            Self::Likes => "likes",
            Self::IdempotencyKeys => "idempotency_keys",
            Self::Sequences => "sequences",
        }
    }

    /// Reads a fact of this table.
    pub fn read<'de, D: Deserializer<'de>>(self, written: D) -> Result<Fact, D::Error> {
        match self {
            Self::Photos => PhotoFact::deserialize(written).map(Fact::Photo),
            Self::Users => UserFact::deserialize(written).map(Fact::User),
            Self::Sessions => SessionFact::deserialize(written).map(Fact::Session),
            Self::Posts => PostFact::deserialize(written).map(Fact::Post),
            Self::Likes => LikeFact::deserialize(written).map(Fact::Like),
            Self::IdempotencyKeys => KeyFact::deserialize(written).map(Fact::Key),
            Self::Sequences => SequenceFact::deserialize(written).map(Fact::Sequence),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Written without the name of its table: whoever keeps facts keeps those of a table together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    Photo(PhotoFact),
    User(UserFact),
    Session(SessionFact),
    Post(PostFact),
    Like(LikeFact),
    Key(KeyFact),
    Sequence(SequenceFact),
}

impl Fact {
    pub fn table(&self) -> Table {
        match self {
            Self::Photo(_) => Table::Photos,
            Self::User(_) => Table::Users,
            Self::Session(_) => Table::Sessions,
            Self::Post(_) => Table::Posts,
            Self::Like(_) => Table::Likes,
            Self::Key(_) => Table::IdempotencyKeys,
            Self::Sequence(_) => Table::Sequences,
        }
    }
}

// A column that is not known here is refused, not dropped: it would be lost on the way.

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhotoFact {
    #[serde(with = "text")]
    pub id: PhotoId,
    pub width: u32,
    pub height: u32,
    #[serde(with = "bytes")]
    pub placeholder: Vec<u8>,
    pub bytes: u64,
    pub original: Option<String>,
    pub orientation: Option<i64>,
    pub alt: Option<String>,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserFact {
    pub id: i64,
    pub username: String,
    pub username_key: String,
    pub password_hash: String,
    #[serde(with = "optional_text")]
    pub photo_id: Option<PhotoId>,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFact {
    #[serde(with = "bytes")]
    pub token_hash: Vec<u8>,
    pub user_id: i64,
    pub created_at: i64,
    pub last_used_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostFact {
    pub id: i64,
    pub user_id: i64,
    #[serde(with = "text")]
    pub photo_id: PhotoId,
    pub width: u32,
    pub height: u32,
    #[serde(with = "bytes")]
    pub placeholder: Vec<u8>,
    pub alt: Option<String>,
    pub message: Option<String>,
    pub like_count: i64,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LikeFact {
    pub user_id: i64,
    pub post_id: i64,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFact {
    pub user_id: i64,
    pub key: String,
    pub post_id: i64,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceFact {
    pub table: String,
    pub last: i64,
}

/// A photo's name, as everywhere.
mod text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(id: &PhotoId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PhotoId, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

mod optional_text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(id: &Option<PhotoId>, to: S) -> Result<S::Ok, S::Error> {
        id.map(|id| id.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PhotoId>, D::Error> {
        let written = Option::<String>::deserialize(from)?;
        written.map(|id| id.parse().map_err(de::Error::custom)).transpose()
    }
}

/// Bytes as base64.
mod bytes {
    use super::*;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::sqlite::connection;

    /// Tables that are about the place and not about the service, and why they stay behind.
    const LEFT_BEHIND: [&str; 2] = [
        "uploads",  // bytes on their way into the old blob store
        "removals", // bytes on their way out of it
    ];

    /// One of each, every column filled.
    fn samples() -> Vec<Fact> {
        let id: PhotoId = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b".parse().unwrap();
        let text = || Some("words".to_owned());
        vec![
            Fact::Photo(PhotoFact {
                id,
                width: 40,
                height: 30,
                placeholder: vec![0, 255],
                bytes: 1000,
                original: Some("webp".into()),
                orientation: Some(6),
                alt: text(),
                created_at: 5,
            }),
            Fact::User(UserFact {
                id: 1,
                username: "Ada".into(),
                username_key: "ada".into(),
                password_hash: "$argon2id$".into(),
                photo_id: Some(id),
                created_at: 5,
            }),
            Fact::Session(SessionFact {
                token_hash: vec![7; 32],
                user_id: 1,
                created_at: 5,
                last_used_at: 6,
            }),
            Fact::Post(PostFact {
                id: 1,
                user_id: 1,
                photo_id: id,
                width: 40,
                height: 30,
                placeholder: vec![0, 255],
                alt: text(),
                message: text(),
                like_count: 1,
                created_at: 5,
            }),
            Fact::Like(LikeFact { user_id: 1, post_id: 1, created_at: 5 }),
            Fact::Key(KeyFact { user_id: 1, key: "k".into(), post_id: 1, created_at: 5 }),
            Fact::Sequence(SequenceFact { table: "posts".into(), last: 9 }),
        ]
    }

    /// Whoever adds a table or a column to the schema adds it here, to `export.rs` and to `import.rs`.
    #[test]
    fn every_table_and_column_of_the_schema_is_carried_along() {
        let folder = tempfile::tempdir().unwrap();
        let conn = connection::open(&folder.path().join("pinhole.db")).unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let mut schema: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for table in column(&conn, tables) {
            let columns = column(&conn, &format!("SELECT name FROM pragma_table_info('{table}')"));
            schema.insert(table, columns.into_iter().collect());
        }
        for table in LEFT_BEHIND {
            assert!(schema.remove(table).is_some(), "{table} is not in the schema");
        }
        let carried = samples().into_iter().filter(|fact| fact.table() != Table::Sequences).map(|fact| {
            let written = serde_json::to_value(&fact).unwrap();
            let columns = written.as_object().unwrap().keys().cloned().collect();
            (fact.table().name().to_owned(), columns)
        });
        assert_eq!(carried.collect::<BTreeMap<String, BTreeSet<String>>>(), schema);

        // Tables that hand out ids have a sequence, and SQLite a list of those.
        let counting = "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%' ORDER BY name";
        assert_eq!(column(&conn, counting), crate::export::SEQUENCES);
    }

    fn column(conn: &rusqlite::Connection, sql: &str) -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn what_is_written_reads_back_to_the_same_and_nothing_else_is_taken() {
        assert_eq!(samples().iter().map(Fact::table).collect::<Vec<_>>(), Table::ALL);
        for fact in samples() {
            let mut written = serde_json::to_value(&fact).unwrap();
            assert_eq!(fact.table().read(written.clone()).unwrap(), fact);
            written["surprise"] = 1.into();
            assert!(fact.table().read(written).is_err(), "a column too many: {fact:?}");
        }
        assert!(Table::Likes.read(serde_json::json!({"user_id": 1, "post_id": 1})).is_err());
    }
}
