//! A database for one test: an empty schema on the server that the test script starts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::connector::{Connector, ServerRole};
use super::tx::PostgresTx;
use super::url::DatabaseUrl;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Creates it. Without a server the test fails; it is never skipped.
pub(crate) async fn create() -> DatabaseUrl {
    let url = std::env::var("PINHOLE_TEST_POSTGRES_URL")
        .expect("PINHOLE_TEST_POSTGRES_URL is not set: scripts/test starts a server and sets it");
    let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    let task = tokio::spawn(connection);
    let create = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    client.batch_execute(&create).await.unwrap();
    drop(client);
    task.await.unwrap().unwrap();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options=-csearch_path%3D{name}&application_name={name}").parse().unwrap()
}

/// Connects to the database directly, without a store.
pub(crate) async fn connect(url: &DatabaseUrl) -> PostgresTx {
    Connector::new(url, ServerRole::Primary, Duration::from_secs(10)).unwrap().connect().await.unwrap()
}
