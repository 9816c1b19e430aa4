//! Damage of the database file: a check at the start, and a record of the errors that report damage later.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use model::Clock;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};

use super::connection;
use crate::error::{Error, OpenError};

/// The longest check at a start; a larger database is opened without having been read to its end.
const START_CHECK: Duration = Duration::from_secs(5);

/// The longest check after an error has reported damage. A shutdown waits for it.
const RECHECK: Duration = Duration::from_secs(20);

/// The pause after such a check, in multiples of its duration: checks take a tenth of one core at most.
const RECHECK_PAUSE: u32 = 10;

/// Page cache of the connection of such a check, in bytes.
const CACHE: u64 = 2 << 20;

/// Between the interrupts of a check that has reached its limit.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Intact,
    /// What SQLite says of the first damaged page.
    Damaged(String),
    TimedOut,
}

/// Fails if the file is damaged. Called before its schema is upgraded, which would write to it.
pub(super) fn check_at_start(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    match check(conn, "PRAGMA quick_check(1)", START_CHECK).map_err(OpenError::at(path))? {
        Finding::Intact => Ok(()),
        Finding::Damaged(cause) => Err(OpenError::Damaged { path: path.to_owned(), cause }),
        Finding::TimedOut => {
            tracing::warn!(
                seconds = START_CHECK.as_secs(),
                "the check of the database was ended at its time limit; `pinhole doctor` checks all of it"
            );
            Ok(())
        }
    }
}

/// Runs a pragma whose first row is `ok`, or the first error, until `limit`.
fn check(conn: &Connection, pragma: &str, limit: Duration) -> rusqlite::Result<Finding> {
    let interrupt = conn.get_interrupt_handle();
    let outcome = std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        scope.spawn(move || {
            let mut pause = limit;
            // Again and again: an interrupt before the first step of the statement has no effect.
            while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
                pause = INTERRUPT_INTERVAL;
            }
        });
        let outcome = conn.query_row(pragma, [], |row| row.get::<_, String>(0));
        drop(done);
        outcome
    });
    match outcome {
        Ok(line) if line == "ok" => Ok(Finding::Intact),
        Ok(line) => Ok(Finding::Damaged(line)),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Ok(Finding::TimedOut),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Ok(Finding::Damaged(error.to_string()))
            }
            _ => Err(error),
        },
    }
}

/// The errors that reported damage. SQLite reports a failed read of the disk as damage, too, so a check that
/// finds the whole file intact refutes them.
#[derive(Debug)]
pub(super) struct Damage {
    path: PathBuf,
    reports: AtomicU64,
    /// The number of reports that a check has refuted.
    refuted: AtomicU64,
    /// Before this, the file is not checked again.
    next_check: Mutex<Option<Instant>>,
}

impl Damage {
    pub(super) fn new(path: &Path) -> Self {
        let (reports, refuted) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { path: path.to_owned(), reports, refuted, next_check: Mutex::new(None) }
    }

    /// Records an error that reports damage, and logs the first.
    pub(super) fn observe<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Damaged(cause)) = &outcome {
            self.report(cause);
        }
        outcome
    }

    #[cold]
    fn report(&self, cause: &str) {
        if self.reports.fetch_add(1, Ordering::AcqRel) == self.refuted.load(Ordering::Acquire) {
            tracing::error!(
                cause,
                "the database is damaged, or its disk fails; the service is not ready until a check finds it intact. Run \
                 `pinhole doctor`, and if it finds damage, restore the last good backup with `pinhole restore`"
            );
        }
    }

    pub(super) fn is_reported(&self) -> bool {
        self.reports.load(Ordering::Acquire) != self.refuted.load(Ordering::Acquire)
    }

    /// Checks the whole file if damage was reported and the last check is a while ago. Blocks the thread.
    /// Returns whether damage is still reported.
    pub(super) fn recheck(&self) -> bool {
        if !self.is_reported() {
            return false;
        }
        // Held during the check. Concurrent callers do not wait for it: each would block a thread.
        let Some(mut next_check) = self.next_check.try_lock() else { return true };
        let started = Clock::monotonic();
        if next_check.is_some_and(|time| started < time) {
            return self.is_reported();
        }
        let reports = self.reports.load(Ordering::Acquire);
        // A new connection: the pages in the caches of the others may be older than the damage.
        let conn = connection::open_reader(&self.path, CACHE).map_err(|error| error.to_string());
        let finding = conn.and_then(|conn| {
            check(&conn, "PRAGMA integrity_check(1)", RECHECK).map_err(|error| error.to_string())
        });
        let pause = started.elapsed() * RECHECK_PAUSE;
        *next_check = (finding != Ok(Finding::Intact)).then(|| Clock::monotonic() + pause);
        match finding {
            Ok(Finding::Intact) => {
                self.refuted.store(reports, Ordering::Release);
                tracing::warn!("the database is intact: an error of its disk was reported as damage");
            }
            Ok(Finding::Damaged(cause)) => tracing::error!(cause, "the check of the database found damage"),
            Ok(Finding::TimedOut) => {
                tracing::error!("the check of the database did not end in time; run `pinhole doctor`");
            }
            Err(cause) => tracing::error!(cause, "the database could not be checked"),
        }
        self.is_reported()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(rows: u32) -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let conn = Connection::open(folder.path().join("pinhole.db")).unwrap();
        let rows = format!(
            "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT UNIQUE) STRICT;
             WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {rows})
             INSERT INTO notes SELECT n, hex(randomblob(32)) FROM r;"
        );
        conn.execute_batch(&rows).unwrap();
        (folder, conn)
    }

    #[test]
    fn a_check_is_ended_at_its_time_limit() {
        let (_folder, conn) = database(50_000);
        let run = |limit| check(&conn, "PRAGMA integrity_check(1)", limit).unwrap();
        assert_eq!(run(Duration::from_secs(60)), Finding::Intact);
        assert_eq!(run(Duration::ZERO), Finding::TimedOut);
    }

    #[test]
    fn a_report_stands_unless_a_check_finds_the_file_intact() {
        let (folder, conn) = database(1000);
        let path = folder.path().join("pinhole.db");
        let damage = Damage::new(&path);
        let report = || drop(damage.observe::<()>(Err(Error::Damaged("malformed".into()))));
        assert!(!damage.is_reported() && !damage.recheck());
        drop(damage.observe::<()>(Err(Error::Busy)));
        assert!(!damage.is_reported());

        report();
        assert!(damage.is_reported());
        assert!(!damage.recheck(), "the file is intact");

        drop(conn);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096..4196].fill(0x5a);
        std::fs::write(&path, bytes).unwrap();
        report();
        assert!(damage.recheck() && damage.is_reported());
    }
}
