//! Extractors: what handlers take from a request. Each describes itself for the OpenAPI document.

pub(super) mod client_address;
pub(super) mod form_body;
pub(super) mod paging;
pub(super) mod path;
pub(super) mod session;
