//! Check of the read replica.

use store::{DatabaseUrl, ReplicationLag, replica_lag};

use super::{ConsistencyCheck, Finding};
use crate::humanize::size;
use crate::location::StorageLocation;

/// With a larger lag the replica is rarely read: a read needs all writes that were committed before it.
const MAX_LAG: u64 = 16 << 20;

impl ConsistencyCheck<'_> {
    /// `None` if no replica is configured.
    pub(super) async fn replica(&self) -> Option<Finding> {
        let (Some(replica), StorageLocation::Url(primary)) =
            (self.replica, &self.instance.location().database)
        else {
            return None;
        };
        Some(match replica_lag(primary, replica).await {
            Ok(Some(lag)) => lag_finding(replica, lag),
            Ok(None) => Finding::error("replica", format!("{replica} is not a standby of a primary"))
                .advice("Point `database_read_url` to a standby of the database, or unset it."),
            Err(error) => Finding::error("replica", format!("{error}; all reads go to the primary")).advice(
                "Check that it is running, and that the user and password of `database_read_url` are right.",
            ),
        })
    }
}

fn lag_finding(replica: &DatabaseUrl, ReplicationLag { bytes, time }: ReplicationLag) -> Finding {
    if bytes == 0 {
        return Finding::ok("replica", format!("{replica} has replayed everything"));
    }
    let what = format!("{replica} is {} and {} s behind", size(bytes), time.as_secs());
    if bytes < MAX_LAG {
        return Finding::ok("replica", what);
    }
    Finding::note("replica", what)
        .advice("Reads go to the primary until the replica has caught up. Check the replication.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::doctor::Level;

    #[test]
    fn only_a_large_replication_lag_is_a_note() {
        let replica: DatabaseUrl = "postgres://ada:s3cret@standby/pinhole".parse().unwrap();
        let finding = |bytes| lag_finding(&replica, ReplicationLag { bytes, time: Duration::from_secs(7) });
        assert_eq!([0, 1, MAX_LAG].map(|bytes| finding(bytes).level), [Level::Ok, Level::Ok, Level::Note]);
        assert_eq!(finding(2 << 20).what, "pinhole on standby:5432 is 2.0 MiB and 7 s behind");
    }
}
