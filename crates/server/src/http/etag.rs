//! Conditional requests: entity tags and `If-None-Match` (RFC 9110, section 13).

use std::hash::{DefaultHasher, Hasher};

use http::HeaderMap;
use http::header::IF_NONE_MATCH;

/// The opaque tag of a body, in quotes. It goes behind `W/`, since the same content may be compressed or not.
pub(crate) fn tag_of(body: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(body);
    format!("\"{:016x}\"", hasher.finish())
}

/// Whether the client has this version already: `If-None-Match` names it, or contains `*`.
pub(crate) fn if_none_match_contains(headers: &HeaderMap, etag: &str) -> bool {
    if_none_match_names(headers, "*") || if_none_match_names(headers, etag)
}

/// A weak comparison (RFC 9110, 13.1.2).
pub(crate) fn if_none_match_names(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|candidate| candidate.strip_prefix("W/").unwrap_or(candidate) == etag)
}
