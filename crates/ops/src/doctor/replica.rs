//! The standby that answers reads.

use store::{DatabaseUrl, Lag, replica_lag};

use super::{Examination, Finding};
use crate::humanize::size;
use crate::places::Place;

/// One that is further behind hardly ever answers: what it is asked about it would have to know already.
const FAR: u64 = 16 << 20;

impl Examination<'_> {
    /// Nothing, where there is none.
    pub(super) async fn replica(&self) -> Option<Finding> {
        let (Some(replica), Place::Address(primary)) = (self.replica, &self.instance.places().database)
        else {
            return None;
        };
        Some(match replica_lag(primary, replica).await {
            Ok(Some(lag)) => followed(replica, lag),
            Ok(None) => Finding::problem("replica", format!("{replica} follows no primary"))
                .advice("Point `database_read_url` to a standby of the database, or leave it out."),
            Err(error) => Finding::problem("replica", format!("{error}; the primary answers all reads"))
                .advice("See that it runs, and that `database_read_url` has the right name and password."),
        })
    }
}

fn followed(replica: &DatabaseUrl, Lag { bytes, time }: Lag) -> Finding {
    if bytes == 0 {
        return Finding::fine("replica", format!("{replica} knows all that is written"));
    }
    let what = format!("{replica} is {} and {} s behind", size(bytes), time.as_secs());
    if bytes < FAR {
        return Finding::fine("replica", what);
    }
    Finding::note("replica", what)
        .advice("The primary answers until it has caught up: see what keeps it from that.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::doctor::Level;

    #[test]
    fn only_one_that_is_far_behind_is_worth_a_note() {
        let replica: DatabaseUrl = "postgres://ada:s3cret@standby/pinhole".parse().unwrap();
        let told = |bytes| followed(&replica, Lag { bytes, time: Duration::from_secs(7) });
        assert_eq!([0, 1, FAR].map(|bytes| told(bytes).level), [Level::Fine, Level::Fine, Level::Note]);
        assert_eq!(told(2 << 20).what, "pinhole on standby:5432 is 2.0 MiB and 7 s behind");
    }
}
