//! Request ids (`X-Request-Id`), which link a response to its log events.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Up to 64 letters, digits and `-_.`. In place, because every request has one.
#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    text: [u8; Self::MAX_BYTES],
    len: usize,
}

impl RequestId {
    const MAX_BYTES: usize = 64;

    /// The `X-Request-Id` of the client if it is well formed, or else a new id.
    pub(crate) fn of(headers: &HeaderMap, ids: &RequestIds) -> Self {
        let sent = headers.get(REQUEST_ID).and_then(|id| Self::parse(id.as_bytes()));
        sent.unwrap_or_else(|| ids.next())
    }

    fn parse(id: &[u8]) -> Option<Self> {
        let is_allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
        if id.is_empty() || !id.iter().all(is_allowed) {
            return None;
        }
        let mut text = [0; Self::MAX_BYTES];
        text.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self { text, len: id.len() })
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..self.len]).unwrap_or_default()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(self.as_str()).unwrap_or(HeaderValue::from_static("none"))
    }
}

/// Generates request ids that do not repeat within the process; a random start makes them differ between
/// processes.
pub(crate) struct RequestIds(AtomicU64);

impl RequestIds {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(getrandom::u64().unwrap_or_default()))
    }

    fn next(&self) -> RequestId {
        const LEN: usize = 16;
        const HEX: &[u8; 16] = b"0123456789abcdef";
        // An odd step visits every number once, and with this one (Weyl sequence) consecutive ids differ in
        // most digits.
        let mut number = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let text = std::array::from_fn(|_| {
            number = number.rotate_left(4);
            HEX[(number & 15) as usize]
        });
        RequestId { text, len: LEN }
    }
}
