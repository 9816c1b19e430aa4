//! A database for one test: an empty schema of its own with the server the test script started.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::link::{Link, Purpose};
use super::session::Session;
use super::url::DatabaseUrl;

static MADE: AtomicU64 = AtomicU64::new(0);

/// Never skipped: a test that needs PostgreSQL and finds none fails.
pub(crate) async fn fresh() -> DatabaseUrl {
    let url = std::env::var("PINHOLE_TEST_POSTGRES_URL")
        .expect("PINHOLE_TEST_POSTGRES_URL is not set: scripts/test starts a server and sets it");
    let name = format!("trial_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    let speaker = tokio::spawn(connection);
    let made = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
    client.batch_execute(&made).await.unwrap();
    drop(client);
    speaker.await.unwrap().unwrap();
    let and = if url.contains('?') { '&' } else { '?' };
    format!("{url}{and}options=-csearch_path%3D{name}").parse().unwrap()
}

/// A connection to it, past the store.
pub(crate) async fn session(url: &DatabaseUrl) -> Session {
    Link::new(url, Purpose::Write, Duration::from_secs(10)).unwrap().connect().await.unwrap()
}
