//! The route table, and the router that follows from it.

pub(super) mod fast_route;
pub(super) mod route;
pub(super) mod router;
pub(super) mod table;
