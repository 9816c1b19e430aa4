//! How far a standby is behind its primary, for whoever examines a cluster.

use std::time::Duration;

use tokio_postgres::Row;

use super::error::told;
use super::link::Purpose;
use super::url::DatabaseUrl;
use super::{STATEMENT_TIME, link};
use crate::OpenError;

const WRITTEN: &str = "SELECT CAST(pg_current_wal_flush_lsn() - '0/0'::pg_lsn AS BIGINT)";

/// The age of the last change it knows is how old its answers are only while there are newer ones.
const REPLAYED: &str = "SELECT pg_is_in_recovery(),
    CAST(coalesce(pg_last_wal_replay_lsn(), '0/0'::pg_lsn) - '0/0'::pg_lsn AS BIGINT),
    CAST(coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) AS BIGINT)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    pub bytes: u64,
    pub time: Duration,
}

/// `None` if it follows nobody. The primary is asked first: what it writes meanwhile does not count.
pub async fn replica_lag(primary: &DatabaseUrl, replica: &DatabaseUrl) -> Result<Option<Lag>, OpenError> {
    let written: i64 = asked(primary, Purpose::Write, WRITTEN).await?.get(0);
    let row = asked(replica, Purpose::Read, REPLAYED).await?;
    let (follows, replayed, seconds): (bool, i64, i64) = (row.get(0), row.get(1), row.get(2));
    let bytes = u64::try_from(written - replayed).unwrap_or(0);
    let seconds = if bytes == 0 { 0 } else { u64::try_from(seconds).unwrap_or(0) };
    Ok(follows.then_some(Lag { bytes, time: Duration::from_secs(seconds) }))
}

async fn asked(url: &DatabaseUrl, purpose: Purpose, sql: &str) -> Result<Row, OpenError> {
    let failed = |cause| OpenError::Server { place: url.to_string(), cause };
    let mut session =
        link(url, purpose, STATEMENT_TIME)?.connect().await.map_err(|error| failed(error.to_string()))?;
    session.client().query_one(sql, &[]).await.map_err(|error| failed(told(&error)))
}
