//! The route table.

mod moderation_table;
pub(super) mod route;
pub(super) mod table;
