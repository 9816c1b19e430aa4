//! Creates and upgrades the SQLite schema by migrations. A released migration is never changed; a new one is
//! a new file.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::connection;
use super::damage::check_at_start;
use crate::error::OpenError;

/// The files in `migrations/sqlite`, listed by the build script.
const MIGRATIONS: &[&str] = include!(concat!(env!("OUT_DIR"), "/sqlite_migrations.rs"));

/// The schema version after the last migration.
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// Opens the writer's connection; creates the file if it is missing, and upgrades its schema.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    let mut conn = connection::open_writer(path)?;
    upgrade(&mut conn, path)?;
    Ok(conn)
}

/// Applies the missing migrations, each in its own transaction together with the new version number.
fn upgrade(conn: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let failed = OpenError::at(path);
    let found = version(conn).map_err(failed)?;
    if found > VERSION {
        return Err(OpenError::Newer { database: path.display().to_string(), found, known: VERSION });
    }
    if found == 0 && !is_empty(conn).map_err(failed)? {
        return Err(OpenError::Foreign { database: path.display().to_string() });
    }
    if found > 0 {
        check_at_start(conn, path)?;
    }
    for (migration, version) in MIGRATIONS.iter().zip(1..).skip_while(|(_, version)| *version <= found) {
        apply(conn, migration, version).map_err(failed)?;
        if found > 0 {
            tracing::info!(from = version - 1, to = version, "database schema upgraded");
        }
    }
    if found == 0 {
        tracing::info!(database = %path.display(), schema_version = VERSION, "created a new, empty database");
    }
    Ok(())
}

/// Checks the version for a read-only handle, which applies no migration.
pub(crate) fn expect_current(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    let failed = OpenError::at(path);
    let database = path.display().to_string();
    match version(conn).map_err(failed)? {
        VERSION => Ok(()),
        0 => Err(OpenError::Foreign { database }),
        found if found > VERSION => Err(OpenError::Newer { database, found, known: VERSION }),
        found => Err(OpenError::Older { database, found, known: VERSION }),
    }
}

fn apply(conn: &mut Connection, migration: &str, version: u32) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(migration)?;
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()
}

fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn is_empty(conn: &Connection) -> rusqlite::Result<bool> {
    conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_database_is_opened_again_and_a_newer_schema_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        open(&path).unwrap();
        let conn = open(&path).unwrap();
        assert_eq!(version(&conn).unwrap(), VERSION);

        conn.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let rejected = open(&path).unwrap_err();
        assert!(matches!(rejected, OpenError::Newer { .. }), "{rejected}");
    }

    #[test]
    fn a_read_only_handle_requires_the_current_schema_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let conn = open(&path).unwrap();
        expect_current(&conn, &path).unwrap();
        for (version, message) in
            [(VERSION + 1, "newer Pinhole"), (VERSION - 1, "older Pinhole"), (0, "not a Pinhole database")]
        {
            conn.pragma_update(None, "user_version", version).unwrap();
            let rejected = expect_current(&conn, &path).unwrap_err();
            assert!(rejected.to_string().contains(message), "{rejected}");
        }
    }

    #[test]
    fn rows_of_schema_version_1_survive_all_later_migrations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, MIGRATIONS[0], 1).unwrap();
        let rows = "INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
                VALUES (x'01', 40, 30, x'02', 1000, 5);
            INSERT INTO users (username, username_key, password_hash, created_at) VALUES ('ada', 'ada', '', 5);
            INSERT INTO posts (user_id, photo_id, message, like_count, created_at)
                VALUES (1, x'01', 'a #tag', 0, 5)";
        conn.execute_batch(rows).unwrap();
        drop(conn);

        let conn = open(&path).unwrap();
        assert_eq!(version(&conn).unwrap(), VERSION);
        let photo: (i64, Option<String>, Option<i64>, Option<String>) = conn
            .query_row("SELECT width, original, orientation, alt FROM photos", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .unwrap();
        assert_eq!(photo, (40, None, None, None));
        let unindexed = "SELECT post_id FROM post_tags WHERE tag = ''";
        assert_eq!(conn.query_row(unindexed, [], |row| row.get(0)), Ok(1), "maintenance indexes its tags");
    }

    #[test]
    fn migration_4_copies_dimensions_placeholder_and_alt_text_of_photos_into_posts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let mut conn = Connection::open(&path).unwrap();
        for (migration, version) in MIGRATIONS[..3].iter().zip(1..) {
            apply(&mut conn, migration, version).unwrap();
        }
        let before = "INSERT INTO photos (id, width, height, placeholder, bytes, created_at, alt)
                VALUES (x'01', 40, 30, x'02', 1000, 5, 'a cat'), (x'03', 20, 20, x'04', 1000, 5, 'ada smiling');
            INSERT INTO users (username, username_key, password_hash, photo_id, created_at)
                VALUES ('ada', 'ada', '', x'03', 5);
            INSERT INTO posts (user_id, photo_id, like_count, created_at) VALUES (1, x'01', 0, 5)";
        conn.execute_batch(before).unwrap();
        drop(conn);

        let conn = open(&path).unwrap();
        let post: (i64, i64, Vec<u8>, String) = conn
            .query_row("SELECT width, height, placeholder, alt FROM posts", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .unwrap();
        assert_eq!(post, (40, 30, vec![2], "a cat".into()));
        let mut alts = conn.prepare("SELECT alt FROM photos ORDER BY id").unwrap();
        let alts: Vec<Option<String>> =
            alts.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(alts, [None, Some("ada smiling".into())], "a profile photo keeps its alt text");
    }

    #[test]
    fn the_database_of_another_program_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE users (name TEXT)").unwrap();
        let rejected = open(&path).unwrap_err();
        assert!(matches!(rejected, OpenError::Foreign { .. }), "{rejected}");
    }

    #[test]
    fn a_failing_migration_is_rolled_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = open(&folder.path().join("pinhole.db")).unwrap();
        apply(&mut conn, "CREATE TABLE half (x INTEGER); CREATE TABLE half (x INTEGER);", 10).unwrap_err();
        assert_eq!(version(&conn).unwrap(), VERSION);
        let tables: i64 = conn
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'half'", [], |r| r.get(0))
            .unwrap();
        assert_eq!(tables, 0);
    }

    /// The durability pragmas are in effect, and the bundled SQLite has the compile options that were
    /// measured.
    #[test]
    fn the_bundled_sqlite_has_the_expected_version_pragmas_and_options() {
        assert!(rusqlite::version_number() >= 3_051_003, "SQLite {} has the WAL bug", rusqlite::version());
        let folder = tempfile::tempdir().unwrap();
        let conn = open(&folder.path().join("pinhole.db")).unwrap();
        let pragma = |name: &str| {
            conn.pragma_query_value(None, name, |r| r.get::<_, rusqlite::types::Value>(0)).unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        assert_eq!(pragma("synchronous"), 2.into());
        assert_eq!(pragma("foreign_keys"), 1.into());
        let options: Vec<String> = conn
            .prepare("PRAGMA compile_options")
            .unwrap()
            .query_map([], |r| r.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(
            !options.iter().any(|o| o == "ENABLE_STAT4"),
            "STAT4 makes SQLite plan a statement again at every use"
        );
    }
}
