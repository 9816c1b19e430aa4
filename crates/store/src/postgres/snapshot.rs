//! A snapshot: which transactions are visible in it.

use std::num::ParseIntError;
use std::str::FromStr;

/// PostgreSQL's `pg_snapshot`. Transactions below `xmin` are visible; those from `xmax` on and those in
/// progress are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) xmin: u64,
    pub(super) xmax: u64,
    pub(super) in_progress: Vec<u64>,
}

impl FromStr for Snapshot {
    type Err = ParseIntError;

    /// Parses `xmin:xmax:xip,xip`.
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().unwrap_or_default();
        let (xmin, xmax) = (part().parse()?, part().parse()?);
        let in_progress = part().split(',').filter(|xid| !xid.is_empty()).map(str::parse);
        Ok(Self { xmin, xmax, in_progress: in_progress.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_parsed_from_their_text() {
        let parsed = |text: &str| text.parse::<Snapshot>();
        assert_eq!(parsed("7:7:"), Ok(Snapshot { xmin: 7, xmax: 7, in_progress: vec![] }));
        let busy = Snapshot { xmin: 10, xmax: 1 << 40, in_progress: vec![10, 12] };
        assert_eq!(parsed(&format!("10:{}:10,12", 1_u64 << 40)), Ok(busy));
        for invalid in ["", "1", "1:", "1:2:x", "a:b:", "1:2:3,,x"] {
            assert!(parsed(invalid).is_err(), "{invalid}");
        }
    }
}
