//! Limits: SQLite with nothing around it, and the disk itself.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};
use store::sql::FEED_PAGE;

use super::SMALL;
use super::fill::spread;
use super::process::stay_on;
use super::writer::{self, Commit};
use crate::error::Error;

const LENGTH: Duration = Duration::from_secs(1);

/// Posts of a page, and one more to know whether there is a next one.
const LIMIT: i64 = 21;

/// Microseconds for the rows of one page, one after another, on one core: the service's own statements for
/// the posts and for the viewer's likes among them. Authors come from its cache.
pub(super) fn pages(database: &Path, user: u64, core: usize) -> Result<f64, Error> {
    let database = database.to_owned();
    let thread = std::thread::spawn(move || {
        stay_on(core)?;
        read_pages(&database, user).map_err(Error::measure)
    });
    thread.join().map_err(|_| Error::measure("reading pages panicked"))?
}

fn read_pages(database: &Path, user: u64) -> rusqlite::Result<f64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(database, flags)?;
    // As the service does: a statement stays prepared.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let newest: i64 = conn.query_row("SELECT max(id) FROM posts", [], |row| row.get(0))?;
    let mut page = conn.prepare(FEED_PAGE)?;
    let columns = page.column_count();
    let (started, mut count, mut bytes) = (Instant::now(), 0_i64, 0);
    while started.elapsed() < LENGTH {
        let before = newest - count * 7919 % (newest / 2);
        let mut rows = page.query(params![user as i64, before, LIMIT])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                bytes += row.get_ref(column)?.as_bytes_or_null().ok().flatten().map_or(8, <[u8]>::len);
            }
        }
        count += 1;
    }
    std::hint::black_box(bytes);
    Ok(started.elapsed().as_secs_f64() * 1e6 / count as f64)
}

/// Likes a second, one after another with so many to a transaction, each transaction on the disk before the
/// next.
pub(super) fn likes(database: &Path, together: usize) -> Result<f64, Error> {
    write_likes(database, together).map_err(Error::measure)
}

fn write_likes(database: &Path, together: usize) -> rusqlite::Result<f64> {
    let conn = writer::open(database, Commit::Full)?;
    let (started, mut count) = (Instant::now(), 0);
    while started.elapsed() < LENGTH {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        for _ in 0..together {
            let (user, post) = spread(count, SMALL);
            writer::insert(&conn, user as i64, post as i64)?;
            count += 1;
        }
        conn.execute_batch("COMMIT")?;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// How often a second the disk takes 4 KiB for good.
pub(super) fn syncs(folder: &Path) -> Result<f64, Error> {
    let path = folder.join("syncs");
    let failed = || Error::system(path.display().to_string());
    let mut file = File::create(&path).map_err(failed())?;
    let (started, mut count) = (Instant::now(), 0_u64);
    while started.elapsed() < LENGTH {
        file.write_all(&[0; 4096]).map_err(failed())?;
        file.sync_data().map_err(failed())?;
        count += 1;
    }
    let rate = count as f64 / started.elapsed().as_secs_f64();
    std::fs::remove_file(&path).map_err(failed())?;
    Ok(rate)
}
