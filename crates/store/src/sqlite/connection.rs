//! Opens a connection with the pragmas that durability and speed depend on.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, OpenError};

/// Page cache of the connection that writes, and of one that reads seldom.
pub(crate) const WRITE_CACHE: u64 = 16 << 20;

/// How long to wait for another process that has locked the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What the write-ahead log may take, and how many pages it holds when they are moved into the database: a
/// page that was changed many times until then is moved once. A writer without a pause would otherwise do
/// little else.
const LOG: u64 = 128 << 20;
const LOG_PAGES: u64 = 32_000;

/// The connection that writes; creates the file if it is missing.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let opened = || -> rusqlite::Result<Connection> {
        let conn = Connection::open(path)?;
        configure(&conn, WRITE_CACHE)?;
        // FULL, not NORMAL: in WAL mode NORMAL forgets acknowledged commits when the power goes.
        conn.execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA journal_size_limit = {LOG};
             PRAGMA wal_autocheckpoint = {LOG_PAGES};
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON;"
        ))?;
        Ok(conn)
    };
    opened().map_err(OpenError::at(path))
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

/// Moves the write-ahead log into the database and truncates it: deleted rows do not stay in it, and the next
/// start has nothing to replay. False while a reader uses it; it is not waited for.
pub(crate) fn checkpoint(conn: &Connection) -> Result<bool, Error> {
    conn.busy_timeout(Duration::ZERO)?;
    let busy = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    conn.busy_timeout(BUSY_TIMEOUT)?;
    Ok(!busy?)
}

fn configure(conn: &Connection, cache: u64) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // Keeps a prepared statement prepared: without it every cleared binding plans the query again.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_prepared_statement_cache_capacity(128);
    let kibibytes = cache >> 10;
    conn.execute_batch(&format!("PRAGMA cache_size = -{kibibytes}; PRAGMA temp_store = MEMORY;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_truncates_the_log_unless_a_reader_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinhole.db");
        let log = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
        let (writer, reader) = (open_writer(&path).unwrap(), open_reader(&path, 1 << 20).unwrap());
        writer.execute_batch("CREATE TABLE notes (n INTEGER)").unwrap();
        let write = || writer.execute_batch("INSERT INTO notes VALUES (1)").unwrap();
        write();
        reader.execute_batch("BEGIN").unwrap();
        let seen = || reader.query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(seen(), 1);
        write();
        assert!(!checkpoint(&writer).unwrap() && log() > 0);
        assert_eq!(seen(), 1);
        reader.execute_batch("ROLLBACK").unwrap();
        assert!(checkpoint(&writer).unwrap());
        assert_eq!((log(), seen()), (0, 2));
    }
}
