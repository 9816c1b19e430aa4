//! The route table, and the router that is built from it.

pub(super) mod fast_route;
mod moderation_table;
pub(super) mod route;
pub(super) mod router;
pub(super) mod table;
