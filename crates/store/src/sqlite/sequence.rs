//! The last ids that were handed out, where SQLite keeps them.

use rusqlite::Connection;

use super::statement;
use crate::Error;

pub(crate) fn last(conn: &Connection, table: &'static str) -> Result<Option<i64>, Error> {
    statement::first(conn, "SELECT seq FROM sqlite_sequence WHERE name = $1", &[table.into()], |row| {
        row.int(0)
    })
}

pub(crate) fn move_to(conn: &Connection, table: &'static str, last: i64) -> Result<(), Error> {
    // There is no row, and no rule against a second one, before something was inserted.
    statement::execute(conn, "DELETE FROM sqlite_sequence WHERE name = $1", &[table.into()])?;
    let insert = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
    statement::execute(conn, insert, &[table.into(), last.into()]).map(drop)
}
