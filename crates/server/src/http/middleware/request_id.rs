//! Request ids (`X-Request-Id`), which link a response to its log events.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) struct RequestId(pub(crate) HeaderValue);

impl RequestId {
    /// The `X-Request-Id` of the client if it is well formed, or else a new id.
    pub(crate) fn of(headers: &HeaderMap, ids: &RequestIds) -> Self {
        let is_valid = |id: &&HeaderValue| {
            let allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
            (1..=64).contains(&id.len()) && id.as_bytes().iter().all(allowed)
        };
        Self(headers.get(REQUEST_ID).filter(is_valid).cloned().unwrap_or_else(|| ids.next()))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

/// Generates request ids that do not repeat within the process; a random start makes them differ between
/// processes.
pub(crate) struct RequestIds(AtomicU64);

impl RequestIds {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(getrandom::u64().unwrap_or_default()))
    }

    fn next(&self) -> HeaderValue {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        // An odd step visits every number once, and with this one (Weyl sequence) consecutive ids differ in
        // most digits.
        let mut number = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let digits: [u8; 16] = std::array::from_fn(|_| {
            number = number.rotate_left(4);
            HEX[(number & 15) as usize]
        });
        HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("none"))
    }
}
