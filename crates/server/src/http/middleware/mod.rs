//! The middleware around every handler, and its parts.

pub(super) mod addresses;
pub(super) mod endpoint;
pub(super) mod rate_limit;
pub(super) mod request_context;
pub(super) mod request_id;
pub(super) mod response_budget;
