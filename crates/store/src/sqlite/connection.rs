//! Opening a connection with the switches that durability and speed rest on.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema;
use crate::OpenError;

/// The connection that writes: makes the file if it is missing and brings its schema up to date.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    let opened = || {
        let conn = Connection::open(path)?;
        configure(&conn)?;
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
    let mut conn = opened().map_err(|cause| OpenError::Open { path: path.to_owned(), cause })?;
    schema::upgrade(&mut conn, path)?;
    Ok(conn)
}

/// A connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = || {
        let conn = Connection::open_with_flags(path, flags)?;
        configure(&conn)?;
        Ok(conn)
    };
    opened().map_err(|cause| OpenError::Open { path: path.to_owned(), cause })
}

fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::from_secs(5))?;
    // Keeps a prepared statement prepared: without it every cleared binding plans the query anew.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_prepared_statement_cache_capacity(128);
    conn.execute_batch("PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;")
}
