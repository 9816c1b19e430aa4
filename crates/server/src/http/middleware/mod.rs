//! The middleware around every handler, and its parts: rate limits, CSRF check, request ids, memory
//! of requests.

pub(super) mod addresses;
pub(super) mod csrf;
pub(super) mod endpoint;
pub(super) mod limiter;
pub(super) mod rate_limit;
pub(super) mod request_context;
pub(super) mod request_id;
pub(crate) mod request_log;
pub(super) mod request_memory;
