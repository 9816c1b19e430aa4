//! Reports of posts and users, which moderators resolve.

use crate::ids::numeric_id;

numeric_id!(
    /// The id of a report.
    ReportId
);
