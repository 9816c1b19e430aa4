//! Opening a connection with the switches that durability and speed rest on.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema;
use crate::OpenError;

/// What a connection keeps of the database in memory that writes, or reads seldom.
pub(crate) const WRITE_CACHE: u64 = 16 << 20;

/// The connection that writes: makes the file if it is missing and brings its schema up to date.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    let opened = || -> rusqlite::Result<Connection> {
        let conn = Connection::open(path)?;
        configure(&conn, WRITE_CACHE)?;
        // FULL, not NORMAL: in WAL mode NORMAL forgets acknowledged commits when the power goes.
        conn.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA journal_size_limit = 67108864;
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON;",
        )?;
        Ok(conn)
    };
    let mut conn = opened().map_err(OpenError::at(path))?;
    schema::upgrade(&mut conn, path)?;
    Ok(conn)
}

/// A connection that only reads, and keeps so many bytes of what it read.
pub(crate) fn open_reader(path: &Path, cache: u64) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = || -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(path, flags)?;
        configure(&conn, cache)?;
        Ok(conn)
    };
    opened().map_err(OpenError::at(path))
}

fn configure(conn: &Connection, cache: u64) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::from_secs(5))?;
    // Keeps a prepared statement prepared: without it every cleared binding plans the query anew.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_prepared_statement_cache_capacity(128);
    let kibibytes = cache >> 10;
    conn.execute_batch(&format!("PRAGMA cache_size = -{kibibytes}; PRAGMA temp_store = MEMORY;"))
}
