//! Replication lag of a standby, in bytes and time, and the statements for LSNs.

use std::time::Duration;

use model::error_chain;
use tokio_postgres::Row;

use super::connector::{Connector, STATEMENT_TIMEOUT, ServerRole};
use super::url::DatabaseUrl;
use crate::error::OpenError;

/// The primary's flush LSN; every acknowledged write is before it. It is selected as a number, because the
/// client has no type for `pg_lsn`.
const FLUSH_LSN: &str = "SELECT CAST(pg_current_wal_flush_lsn() - '0/0'::pg_lsn AS BIGINT)";

/// The replay LSN of a standby; -1 on any other server, because a promoted standby may lack commits of the
/// old primary.
macro_rules! replay_lsn {
    ($($more:literal)?) => {
        concat!(
            "SELECT CASE WHEN pg_is_in_recovery()
             THEN CAST(coalesce(pg_last_wal_replay_lsn(), '0/0'::pg_lsn) - '0/0'::pg_lsn AS BIGINT) ELSE -1 END",
            $($more)?
        )
    };
}

/// Also selects the timeline that the read barrier has written on the primary.
pub(super) const REPLAY_LSN_AND_TIMELINE: &str = replay_lsn!(", timeline FROM change_log");

/// Also selects the age of the last replayed commit in seconds, which is the lag in time only while newer
/// commits exist.
const REPLAY_LSN_AND_AGE: &str = replay_lsn!(
    ", CAST(coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) AS BIGINT)"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicationLag {
    pub bytes: u64,
    pub time: Duration,
}

/// `None` if `replica` is not a standby. The primary's position is read first, so that later writes do not
/// count as lag.
pub async fn replica_lag(
    primary: &DatabaseUrl,
    replica: &DatabaseUrl,
) -> Result<Option<ReplicationLag>, OpenError> {
    let flush_lsn: i64 = query(primary, ServerRole::Primary, FLUSH_LSN).await?.get(0);
    let row = query(replica, ServerRole::Any, REPLAY_LSN_AND_AGE).await?;
    let (replay_lsn, seconds): (i64, i64) = (row.get(0), row.get(1));
    let bytes = u64::try_from(flush_lsn - replay_lsn).unwrap_or(0);
    let seconds = if bytes == 0 { 0 } else { u64::try_from(seconds).unwrap_or(0) };
    Ok((replay_lsn >= 0).then_some(ReplicationLag { bytes, time: Duration::from_secs(seconds) }))
}

async fn query(url: &DatabaseUrl, role: ServerRole, sql: &str) -> Result<Row, OpenError> {
    let failed = |cause| OpenError::Server { database: url.to_string(), cause };
    let connector = Connector::new(url, role, STATEMENT_TIMEOUT)?;
    let mut tx = connector.connect().await.map_err(|error| failed(error.to_string()))?;
    tx.client().query_one(sql, &[]).await.map_err(|error| failed(error_chain(&error)))
}
