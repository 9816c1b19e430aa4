//! A database for one test: an empty schema on the server that the test script started.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::connector::{Connector, Purpose};
use super::tx::PostgresTx;
use super::url::DatabaseUrl;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Never skipped: a test that needs PostgreSQL and finds none fails.
pub(crate) async fn create() -> DatabaseUrl {
    let url = std::env::var("PINHOLE_TEST_POSTGRES_URL")
        .expect("PINHOLE_TEST_POSTGRES_URL is not set: scripts/test starts a server and sets it");
    let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    let task = tokio::spawn(connection);
    let made = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    client.batch_execute(&made).await.unwrap();
    drop(client);
    task.await.unwrap().unwrap();
    let and = if url.contains('?') { '&' } else { '?' };
    format!("{url}{and}options=-csearch_path%3D{name}").parse().unwrap()
}

/// A connection to it that bypasses the store.
pub(crate) async fn connect(url: &DatabaseUrl) -> PostgresTx {
    Connector::new(url, Purpose::Write, Duration::from_secs(10)).unwrap().connect().await.unwrap()
}
