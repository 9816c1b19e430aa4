//! Tests of every statement on both databases: none sorts, and only the listed exceptions scan a table.

use std::fs;
use std::path::{Path, PathBuf};

use tokio_postgres::SimpleQueryMessage;

use crate::postgres::test_database;
use crate::sqlite::schema;
use crate::store::{Database, Store};
use crate::tables::{self, Table};
use crate::{
    account_exports, account_imports, audit_log, blocks, deletion, feed, grants, held_names,
    idempotency_keys, import, instance_settings, integrity, invitations, likes, maintenance, moderation,
    passwords, photos, posts, profile, reports, resumable_uploads, sessions, tags, usage, users,
};

/// Statements that scan a whole table, and why they may.
const MAY_SCAN: &[&str] = &[
    "PHOTO_TOTALS", // for the metrics, which cache it
    "ID_AT_OFFSET", // counts down the primary key and stops at the offset
    "ALL_SETTINGS", // a few rows, which are cached
    "USER_TOTALS",  // for `pinhole stats`
    // For `pinhole doctor`, backup and migration:
    "TABLE_COUNTS",
    "MISCOUNTED",
    "UNREFERENCED",
];

/// Every module that declares statements.
const MODULES: &[&[(&str, &str)]] = &[
    account_exports::ALL,
    account_imports::ALL,
    audit_log::ALL,
    blocks::ALL,
    deletion::ALL,
    feed::ALL,
    grants::ALL,
    held_names::ALL,
    idempotency_keys::ALL,
    import::ALL,
    instance_settings::ALL,
    integrity::ALL,
    invitations::ALL,
    likes::ALL,
    maintenance::ALL,
    moderation::ALL,
    passwords::ALL,
    photos::ALL,
    posts::ALL,
    profile::ALL,
    reports::ALL,
    resumable_uploads::ALL,
    sessions::ALL,
    tables::ALL,
    tags::ALL,
    usage::ALL,
    users::ALL,
];

#[test]
fn every_module_with_statements_is_listed() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let declares = |text: String| text.lines().any(|line| line.trim() == "statements! {");
    let files = fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.is_file() && declares(fs::read_to_string(path).unwrap())).collect();
    assert_eq!(files.len(), MODULES.len(), "MODULES must have the statements of each of {files:?}");
}

fn every_statement() -> Vec<(&'static str, &'static str)> {
    let tables = Table::ALL.into_iter().filter_map(Table::spec).flat_map(|table| {
        let statements = [Some(table.export), Some(table.insert), table.largest_id];
        statements.into_iter().flatten().map(|sql| (table.name, sql))
    });
    MODULES.iter().copied().flatten().copied().chain(tables).collect()
}

#[test]
fn no_statement_scans_or_sorts() {
    let folder = tempfile::tempdir().unwrap();
    let conn = schema::open(&folder.path().join("plan.db")).unwrap();
    for (name, sql) in every_statement() {
        let mut plan =
            conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let count = plan.parameter_count();
        let nulls = vec![rusqlite::types::Null; count];
        let steps: Vec<String> = plan
            .query_map(rusqlite::params_from_iter(nulls), |row| row.get("detail"))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let scans = |step: &String| step.starts_with("SCAN") && !step.ends_with("CONSTANT ROW");
        assert!(MAY_SCAN.contains(&name) || !steps.iter().any(scans), "{name} scans a table: {steps:#?}");
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{name} sorts: {steps:#?}");
    }
}

/// PostgreSQL prefers a sequential scan of a small table, so scans and sorts are disabled: a plan that still
/// has one has no alternative.
#[tokio::test]
async fn no_statement_scans_or_sorts_on_postgres() {
    let url = test_database::create().await;
    let database = Database::Server { primary: url.clone(), replica: None };
    drop(Store::open(&database, 1).await.unwrap());
    let mut tx = test_database::connect(&url).await;
    let client = tx.client();
    let settings =
        "SET enable_seqscan = off; SET enable_sort = off; SET plan_cache_mode = force_generic_plan";
    client.batch_execute(settings).await.unwrap();
    for (name, sql) in every_statement() {
        let count = client.prepare(sql).await.unwrap_or_else(|e| panic!("{name}: {e:?}")).params().len();
        let nulls = vec!["NULL"; count].join(", ");
        let nulls = if count > 0 { format!("({nulls})") } else { nulls };
        client.batch_execute(&format!("PREPARE planned AS {sql}")).await.unwrap();
        let plan = client.simple_query(&format!("EXPLAIN EXECUTE planned{nulls}")).await.unwrap();
        let steps: Vec<&str> = plan.iter().filter_map(first_column).collect();
        client.batch_execute("DEALLOCATE planned").await.unwrap();
        let scans = |step: &&str| step.contains("Seq Scan");
        assert!(MAY_SCAN.contains(&name) || !steps.iter().any(scans), "{name} scans a table: {steps:#?}");
        assert!(!steps.iter().any(|step| step.contains("Sort")), "{name} sorts: {steps:#?}");
    }
}

fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}

#[test]
fn parameters_are_numbered_in_order_of_first_use() {
    for (name, sql) in every_statement() {
        let mut seen = 0;
        for piece in sql.split('$').skip(1) {
            let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
            let number: usize = digits.parse().unwrap_or_else(|_| panic!("{name}: ${digits}"));
            assert!(number <= seen + 1, "{name}: ${number} comes before ${}", seen + 1);
            seen = seen.max(number);
        }
        for foreign in ["NOW()", "ILIKE", "?", "datetime(", "strftime", "OR REPLACE", "OR IGNORE"] {
            assert!(!sql.contains(foreign), "{name} contains {foreign}, which only one database supports");
        }
    }
}
