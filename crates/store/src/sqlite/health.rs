//! What SQLite itself finds wrong with a database.

use rusqlite::Connection;

use super::statement;
use crate::Error;

const INTEGRITY: &str = "SELECT integrity_check FROM pragma_integrity_check LIMIT 20";
const LOOSE_ENDS: &str =
    "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY \"table\", parent";

/// In SQLite's own words where its pages are damaged, in ours where rows point to what is not there.
pub(crate) fn complaints(conn: &Connection) -> Result<Vec<String>, Error> {
    let mut found = statement::all(conn, INTEGRITY, &[], |row| row.text(0))?;
    found.retain(|line| line != "ok");
    let loose = statement::all(conn, LOOSE_ENDS, &[], |row| {
        Ok(format!(
            "{} rows of {} point to rows of {} that are not there",
            row.int(2)?,
            row.text(0)?,
            row.text(1)?
        ))
    });
    found.extend(loose?);
    Ok(found)
}
