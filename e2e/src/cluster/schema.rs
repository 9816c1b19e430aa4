//! A PostgreSQL schema per test, in the database that the test script has started.

use std::process::Command;

use crate::unique;

use super::host::{output, required_env};

/// The URL of an empty schema.
pub fn fresh_database() -> String {
    database_in(&unique("test").replace('-', "_"))
}

/// The URL of a schema, which is created if it is missing.
pub(crate) fn database_in(schema: &str) -> String {
    psql(&format!("SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS {schema}"));
    let server = required_env("PINHOLE_TEST_POSTGRES_URL");
    let separator = if server.contains('?') { '&' } else { '?' };
    format!("{server}{separator}options=-csearch_path%3D{schema}")
}

/// Executes a statement and returns psql's output.
#[track_caller]
pub(crate) fn psql(statement: &str) -> Vec<u8> {
    let mut psql = Command::new(super::postgres::bin_dir().join("psql"));
    output(psql.args(["-XqAt", "-c", statement, &required_env("PINHOLE_TEST_POSTGRES_URL")]))
}
