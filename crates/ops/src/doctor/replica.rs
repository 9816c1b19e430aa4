//! Check of the read replica.

use store::{DatabaseUrl, Lag, replica_lag};

use super::{Examination, Finding};
use crate::humanize::size;
use crate::location::StorageLocation;

/// A replica that lags further is rarely used: a read needs everything committed before it.
const MAX_LAG: u64 = 16 << 20;

impl Examination<'_> {
    /// `None` without a replica.
    pub(super) async fn replica(&self) -> Option<Finding> {
        let (Some(replica), StorageLocation::Url(primary)) =
            (self.replica, &self.instance.location().database)
        else {
            return None;
        };
        Some(match replica_lag(primary, replica).await {
            Ok(Some(lag)) => lag_finding(replica, lag),
            Ok(None) => Finding::problem("replica", format!("{replica} follows no primary"))
                .advice("Point `database_read_url` to a standby of the database, or leave it out."),
            Err(error) => Finding::problem("replica", format!("{error}; the primary answers all reads"))
                .advice("See that it runs, and that `database_read_url` has the right name and password."),
        })
    }
}

fn lag_finding(replica: &DatabaseUrl, Lag { bytes, time }: Lag) -> Finding {
    if bytes == 0 {
        return Finding::ok("replica", format!("{replica} has replayed everything"));
    }
    let what = format!("{replica} is {} and {} s behind", size(bytes), time.as_secs());
    if bytes < MAX_LAG {
        return Finding::ok("replica", what);
    }
    Finding::note("replica", what).advice("The primary answers until it has caught up: see what delays it.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::doctor::Level;

    #[test]
    fn only_a_large_lag_is_noted() {
        let replica: DatabaseUrl = "postgres://ada:s3cret@standby/pinhole".parse().unwrap();
        let told = |bytes| lag_finding(&replica, Lag { bytes, time: Duration::from_secs(7) });
        assert_eq!([0, 1, MAX_LAG].map(|bytes| told(bytes).level), [Level::Ok, Level::Ok, Level::Note]);
        assert_eq!(told(2 << 20).what, "pinhole on standby:5432 is 2.0 MiB and 7 s behind");
    }
}
