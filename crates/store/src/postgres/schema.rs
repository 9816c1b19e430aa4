//! Creates and upgrades the PostgreSQL schema by migrations. A released migration is never changed; a new one
//! is a new file.

use std::sync::Arc;
use std::time::Duration;

use model::error_chain;
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connector::{Connector, RECONNECT_TIMEOUT, Reconnector};
use super::tx::PostgresTx;
use super::url::DatabaseUrl;
use crate::error::OpenError;

/// The files in `migrations/postgres`, listed by the build script.
const MIGRATIONS: &[&str] = include!(concat!(env!("OUT_DIR"), "/postgres_migrations.rs"));

/// The schema version after the last migration.
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The key of the advisory lock on migrations: "pinhole" in ASCII, unlikely to be used by another program.
const MIGRATION_LOCK: i64 = 0x70_69_6e_68_6f_6c_65;

/// Of the nodes that start at the same time, one applies the migrations; the others wait this long for its
/// lock.
const MIGRATIONS_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The oldest supported server, as `server_version_num`.
const MIN_SERVER_VERSION: i32 = 150_000;

/// Attempts of a migration that deadlocks with writes.
const MAX_ATTEMPTS: usize = 5;

/// Applies the missing migrations, each in its own transaction together with the new version number.
pub(super) async fn upgrade(url: &DatabaseUrl, connector: Arc<Connector>) -> Result<(), OpenError> {
    let failed = |cause| OpenError::Server { database: url.to_string(), cause };
    let mut tx = connect(connector).await.map_err(failed)?;
    let client = tx.client();

    let query_failed = |error: tokio_postgres::Error| failed(error_chain(&error));
    let millis = MIGRATIONS_TIMEOUT.as_millis();
    let timeouts = format!("SET statement_timeout = {millis}; SET lock_timeout = {millis}");
    client.batch_execute(&timeouts).await.map_err(query_failed)?;
    // A session lock, released when the connection is closed at the end of this function.
    client.execute("SELECT pg_advisory_lock($1)", &[&MIGRATION_LOCK]).await.map_err(query_failed)?;
    let found = version(client).await.map_err(query_failed)?;
    match found {
        Some(found) if found > VERSION => {
            return Err(OpenError::Newer { database: url.to_string(), found, known: VERSION });
        }
        None if !is_empty(client).await.map_err(query_failed)? => {
            return Err(OpenError::Foreign { database: url.to_string() });
        }
        _ => {}
    }
    let found = found.unwrap_or(0);
    for (migration, version) in MIGRATIONS.iter().zip(1..).skip_while(|(_, version)| *version <= found) {
        apply(client, migration, version).await.map_err(query_failed)?;
        if found > 0 {
            tracing::info!(from = version - 1, to = version, "database schema upgraded");
        }
    }
    if found == 0 {
        tracing::info!(database = %url, schema_version = VERSION, "created a new, empty database");
    }
    Ok(())
}

/// Connects, and checks the server; the error is a message for the operator.
async fn connect(connector: Arc<Connector>) -> Result<PostgresTx, String> {
    let mut reconnector = Reconnector::new(connector, RECONNECT_TIMEOUT);
    let mut tx = reconnector.connect(Instant::now()).await.map_err(|error| error.to_string())?;
    check_server(tx.client()).await?;
    Ok(tx)
}

/// Checks the version for a read-only handle, which applies no migration.
pub(super) async fn expect_current(url: &DatabaseUrl, connector: Arc<Connector>) -> Result<(), OpenError> {
    let database = url.to_string();
    let failed = |cause| OpenError::Server { database: url.to_string(), cause };
    let mut tx = connect(connector).await.map_err(failed)?;
    let client = tx.client();
    let query_failed = |error: tokio_postgres::Error| failed(error_chain(&error));
    match version(client).await.map_err(query_failed)? {
        Some(VERSION) => Ok(()),
        Some(found) if found > VERSION => Err(OpenError::Newer { database, found, known: VERSION }),
        Some(found) => Err(OpenError::Older { database, found, known: VERSION }),
        None if is_empty(client).await.map_err(query_failed)? => Err(OpenError::Missing { database }),
        None => Err(OpenError::Foreign { database }),
    }
}

/// Checks the server's version, encoding and search path; the error says what to change.
async fn check_server(client: &Client) -> Result<(), String> {
    let settings = "SELECT current_setting('server_version_num')::int, current_setting('server_version'),
        current_setting('server_encoding'), current_schema()";
    let row = client.query_one(settings, &[]).await.map_err(|error| error_chain(&error))?;
    let (number, name, encoding): (i32, &str, &str) = (row.get(0), row.get(1), row.get(2));
    if number < MIN_SERVER_VERSION {
        return Err(format!("it is PostgreSQL {name}; Pinhole needs 15 or newer"));
    }
    if encoding != "UTF8" {
        return Err(format!("its encoding is {encoding}; create it with ENCODING 'UTF8'"));
    }
    match row.get::<_, Option<&str>>(3) {
        Some(_) => Ok(()),
        None => Err("its search_path contains no existing schema; create one or correct it".into()),
    }
}

/// Applies a migration. Nodes of the previous version may be writing: a migration that locks several tables
/// can deadlock with them, and is tried again.
async fn apply(client: &mut Client, migration: &str, version: u32) -> Result<(), tokio_postgres::Error> {
    for _ in 1..MAX_ATTEMPTS {
        match try_apply(client, migration, version).await {
            Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {
                tracing::warn!(to = version, "database schema upgrade deadlocked with a write; retried");
            }
            applied => return applied,
        }
    }
    try_apply(client, migration, version).await
}

async fn try_apply(client: &mut Client, migration: &str, version: u32) -> Result<(), tokio_postgres::Error> {
    let tx = client.transaction().await?;
    tx.batch_execute("CREATE TABLE IF NOT EXISTS pinhole_schema (version BIGINT NOT NULL)").await?;
    tx.batch_execute(migration).await?;
    tx.batch_execute("DELETE FROM pinhole_schema").await?;
    tx.execute("INSERT INTO pinhole_schema (version) VALUES ($1)", &[&i64::from(version)]).await?;
    tx.commit().await
}

/// `None` before the first migration.
async fn version(client: &Client) -> Result<Option<u32>, tokio_postgres::Error> {
    let exists =
        "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'pinhole_schema'";
    if client.query_one(exists, &[]).await?.get::<_, i64>(0) == 0 {
        return Ok(None);
    }
    let row = client.query_opt("SELECT version FROM pinhole_schema", &[]).await?;
    // A number out of range counts as newer than any known version.
    Ok(row.map(|row| u32::try_from(row.get::<_, i64>(0)).unwrap_or(u32::MAX)))
}

async fn is_empty(client: &Client) -> Result<bool, tokio_postgres::Error> {
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()";
    Ok(client.query_one(tables, &[]).await?.get::<_, i64>(0) == 0)
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::postgres::connector::ServerRole;
    use crate::postgres::test_database;

    fn connector(url: &DatabaseUrl) -> Arc<Connector> {
        Connector::new(url, ServerRole::Primary, Duration::from_secs(10)).unwrap()
    }

    #[tokio::test]
    async fn ten_nodes_migrate_concurrently_and_a_newer_schema_is_rejected() {
        let url = test_database::create().await;
        let upgrades = join_all((0..10).map(|_| upgrade(&url, connector(&url)))).await;
        upgrades.into_iter().collect::<Result<Vec<()>, OpenError>>().unwrap();

        let mut tx = connector(&url).connect().await.unwrap();
        assert_eq!(version(tx.client()).await.unwrap(), Some(VERSION));
        let newer = format!("UPDATE pinhole_schema SET version = {}", VERSION + 1);
        tx.client().batch_execute(&newer).await.unwrap();
        let rejected = upgrade(&url, connector(&url)).await.unwrap_err();
        assert!(matches!(rejected, OpenError::Newer { .. }), "{rejected}");
    }

    #[tokio::test]
    async fn the_database_of_another_program_is_rejected() {
        let url = test_database::create().await;
        let mut tx = connector(&url).connect().await.unwrap();
        tx.client().batch_execute("CREATE TABLE users (name TEXT)").await.unwrap();
        let rejected = upgrade(&url, connector(&url)).await.unwrap_err();
        assert!(matches!(rejected, OpenError::Foreign { .. }), "{rejected}");
    }

    #[tokio::test]
    async fn a_migration_that_deadlocks_with_a_write_is_retried() {
        let url = test_database::create().await;
        upgrade(&url, connector(&url)).await.unwrap();
        let (mut writer, mut migrating) =
            (connector(&url).connect().await.unwrap(), connector(&url).connect().await.unwrap());
        // A session looks for a deadlock once, this long after it began to wait, and is the one that is
        // ended: the migration looks when both wait, the writer never.
        for (session, deadlock_timeout) in [(&mut writer, "10min"), (&mut migrating, "5s")] {
            let settings = format!("SET deadlock_timeout = '{deadlock_timeout}'; SET lock_timeout = 0");
            session.client().batch_execute(&settings).await.unwrap();
        }
        writer.client().batch_execute("BEGIN; LOCK TABLE posts").await.unwrap();
        let migration = "LOCK TABLE users; LOCK TABLE posts; CREATE TABLE later (x BIGINT)";
        let migration = tokio::spawn(async move { apply(migrating.client(), migration, 9).await });
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'posts'::regclass";
        while writer.client().query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
        // Now each waits for the other, until the server ends the migration.
        writer.client().batch_execute("LOCK TABLE users; COMMIT").await.unwrap();
        migration.await.unwrap().unwrap();
        assert_eq!(version(writer.client()).await.unwrap(), Some(9));
    }

    #[tokio::test]
    async fn a_failing_migration_is_rolled_back() {
        let url = test_database::create().await;
        upgrade(&url, connector(&url)).await.unwrap();
        let mut tx = connector(&url).connect().await.unwrap();
        let twice = "CREATE TABLE half (x BIGINT); CREATE TABLE half (x BIGINT);";
        apply(tx.client(), twice, 9).await.unwrap_err();
        assert_eq!(version(tx.client()).await.unwrap(), Some(VERSION));
        let half =
            "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'half'";
        assert_eq!(tx.client().query_one(half, &[]).await.unwrap().get::<_, i64>(0), 0);
    }
}
