//! Extractors (axum's `FromRequest`): the arguments of handlers. Each adds its parameters and errors to the
//! OpenAPI document.

pub(super) mod base_url;
pub(super) mod client_address;
pub(super) mod form_body;
pub(super) mod paging;
pub(super) mod path;
pub(super) mod session;
