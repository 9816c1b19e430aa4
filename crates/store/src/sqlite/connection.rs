//! Opens SQLite connections with the pragmas that durability and speed depend on.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, OpenError};

/// Page cache of the writer's and of the read thread's connection, in bytes.
pub(crate) const PAGE_CACHE: u64 = 16 << 20;

/// How long a statement waits for a lock of another process on the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The size to which SQLite's automatic checkpoint truncates the write-ahead log, in bytes; `checkpoint`
/// truncates it to zero.
const WAL_SIZE_LIMIT: u64 = 128 << 20;

/// Pages in the write-ahead log that trigger a checkpoint. A page that changed many times is checkpointed
/// once; with SQLite's default of 1000, a busy writer would spend most of its time in checkpoints.
const WAL_AUTOCHECKPOINT: u64 = 32_000;

/// Opens the writer's connection; creates the file if it is missing.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let opened = || -> rusqlite::Result<Connection> {
        let conn = Connection::open(path)?;
        configure(&conn, PAGE_CACHE)?;
        // FULL, not NORMAL: in WAL mode NORMAL loses acknowledged commits on a power failure.
        conn.execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA journal_size_limit = {WAL_SIZE_LIMIT};
             PRAGMA wal_autocheckpoint = {WAL_AUTOCHECKPOINT};
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON;"
        ))?;
        Ok(conn)
    };
    opened().map_err(OpenError::at(path))
}

/// Opens a read-only connection with a page cache of `cache` bytes.
pub(crate) fn open_reader(path: &Path, cache: u64) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = || -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(path, flags)?;
        configure(&conn, cache)?;
        Ok(conn)
    };
    opened().map_err(OpenError::at(path))
}

/// Checkpoints the write-ahead log and truncates it, so that deleted rows do not stay in it and the next
/// start has nothing to replay. Returns false, without waiting, while a reader uses the log.
pub(crate) fn checkpoint(conn: &Connection) -> Result<bool, Error> {
    conn.busy_timeout(Duration::ZERO)?;
    let busy = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    conn.busy_timeout(BUSY_TIMEOUT)?;
    Ok(!busy?)
}

fn configure(conn: &Connection, cache: u64) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // Query planner stability guarantee: without it SQLite plans a statement again whenever its bindings are
    // cleared.
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
        let count =
            || reader.query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count(), 1);
        write();
        assert!(!checkpoint(&writer).unwrap() && log() > 0);
        assert_eq!(count(), 1);
        reader.execute_batch("ROLLBACK").unwrap();
        assert!(checkpoint(&writer).unwrap());
        assert_eq!((log(), count()), (0, 2));
    }
}
