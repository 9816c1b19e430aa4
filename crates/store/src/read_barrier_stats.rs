//! What the read barrier on PostgreSQL does.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadBarrierStats {
    /// Requests that waited for a check.
    pub waits: u64,
    /// Checks, each for all requests that were waiting when it began.
    pub checks: u64,
    /// The time of all checks together, failed ones included.
    pub check_time: Duration,
    /// Keys and notices that were published, of all nodes.
    pub changes: u64,
}
