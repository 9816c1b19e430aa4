//! A place of one's own in the database that the test script has started.

use std::process::Command;

use crate::unique;

use super::house::{promised, run};

/// The address of an empty schema.
pub fn fresh_database() -> String {
    let server = promised("PINHOLE_TEST_POSTGRES_URL");
    let name = unique("story").replace('-', "_");
    let mut psql = Command::new(super::postgres::programs().join("psql"));
    run(psql.args(["-XqAt", "-c", &format!("CREATE SCHEMA {name}"), &server]));
    let and = if server.contains('?') { '&' } else { '?' };
    format!("{server}{and}options=-csearch_path%3D{name}")
}
