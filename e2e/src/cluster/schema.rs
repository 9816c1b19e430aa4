//! A place of one's own in the database that the test script has started.

use std::process::Command;

use crate::unique;

use super::house::{output, promised};

/// The address of an empty schema.
pub fn fresh_database() -> String {
    database_in(&unique("story").replace('-', "_"))
}

/// The address of the schema called so, which is made if it is missing.
pub(crate) fn database_in(schema: &str) -> String {
    psql(&format!("SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS {schema}"));
    let server = promised("PINHOLE_TEST_POSTGRES_URL");
    let and = if server.contains('?') { '&' } else { '?' };
    format!("{server}{and}options=-csearch_path%3D{schema}")
}

/// What a statement answers, byte by byte.
#[track_caller]
pub(crate) fn psql(statement: &str) -> Vec<u8> {
    let mut psql = Command::new(super::postgres::programs().join("psql"));
    output(psql.args(["-XqAt", "-c", statement, &promised("PINHOLE_TEST_POSTGRES_URL")]))
}
