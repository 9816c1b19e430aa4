//! How far a standby is behind its primary: the statements that ask, and the lag in bytes and time.

use std::time::Duration;

use model::error_chain;
use tokio_postgres::Row;

use super::connector::{Connector, Purpose, STATEMENT_TIMEOUT};
use super::url::DatabaseUrl;
use crate::error::OpenError;

/// The end of the primary's log on disk. What is acknowledged has been flushed. The client has no type for
/// pg_lsn, so it is read as a number.
pub(super) const FLUSHED: &str = "SELECT CAST(pg_current_wal_flush_lsn() - '0/0'::pg_lsn AS BIGINT)";

/// What a standby has replayed; -1 on a server that is none, because a promoted one does not know what it may
/// lack.
macro_rules! replayed {
    ($($more:literal)?) => {
        concat!(
            "SELECT CASE WHEN pg_is_in_recovery()
             THEN CAST(coalesce(pg_last_wal_replay_lsn(), '0/0'::pg_lsn) - '0/0'::pg_lsn AS BIGINT) ELSE -1 END",
            $($more)?
        )
    };
}

pub(super) const REPLAYED: &str = replayed!();

/// With the age of the last replayed commit in seconds. It is the lag in time only while there are newer
/// commits.
const REPLAYED_WITH_AGE: &str = replayed!(
    ", CAST(coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) AS BIGINT)"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    pub bytes: u64,
    pub time: Duration,
}

/// `None` if `replica` is not a standby. The primary is asked first, so that what it writes meanwhile does
/// not count.
pub async fn replica_lag(primary: &DatabaseUrl, replica: &DatabaseUrl) -> Result<Option<Lag>, OpenError> {
    let flushed: i64 = query(primary, Purpose::Write, FLUSHED).await?.get(0);
    let row = query(replica, Purpose::Read, REPLAYED_WITH_AGE).await?;
    let (replayed, seconds): (i64, i64) = (row.get(0), row.get(1));
    let bytes = u64::try_from(flushed - replayed).unwrap_or(0);
    let seconds = if bytes == 0 { 0 } else { u64::try_from(seconds).unwrap_or(0) };
    Ok((replayed >= 0).then_some(Lag { bytes, time: Duration::from_secs(seconds) }))
}

async fn query(url: &DatabaseUrl, purpose: Purpose, sql: &str) -> Result<Row, OpenError> {
    let failed = |cause| OpenError::Server { place: url.to_string(), cause };
    let connector = Connector::new(url, purpose, STATEMENT_TIMEOUT)?;
    let mut tx = connector.connect().await.map_err(|error| failed(error.to_string()))?;
    tx.client().query_one(sql, &[]).await.map_err(|error| failed(error_chain(&error)))
}
