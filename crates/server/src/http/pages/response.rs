//! HTTP responses for pages and text files: security headers and gzip.

use std::io::Write;

use askama::Template;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::error::ApiError;

/// Nothing from other origins, nothing inline, and Trusted Types for script URLs.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'; require-trusted-types-for 'script'; trusted-types pinhole";

/// Browser features that no page uses.
const PERMISSIONS_POLICY: &str = "camera=(), microphone=(), geolocation=(), payment=(), usb=()";

/// Bodies below this many bytes are not compressed: gzip saves nothing there.
const MIN_GZIP_BYTES: usize = 1024;

pub(super) fn page(page: &impl Template, gzip: bool) -> Result<Response, ApiError> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "page template failed to render");
        ApiError::internal()
    })?;
    let mut response = text("text/html; charset=utf-8", html.into(), gzip)?;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, CSP),
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS_POLICY),
        // Stored for back navigation, revalidated on every other load.
        (CACHE_CONTROL, "private, no-cache"),
        (VARY, "Accept-Encoding, Accept-Language, Cookie"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// A text body, compressed if the client accepts gzip and the body is large enough.
pub(super) fn text(media_type: &'static str, body: Bytes, accepts_gzip: bool) -> Result<Response, ApiError> {
    let compress = accepts_gzip && body.len() >= MIN_GZIP_BYTES;
    let body = if compress { gzip(&body, Compression::fast())? } else { body };
    Ok(text_response(media_type, body, compress))
}

/// A response with a body that is already in its final encoding.
pub(super) fn text_response(media_type: &'static str, body: Bytes, is_gzipped: bool) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_LENGTH, HeaderValue::from(body.len())),
        (VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    let mut response = (headers, body).into_response();
    if is_gzipped {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

pub(super) fn gzip(body: &[u8], level: Compression) -> Result<Bytes, ApiError> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), level);
    let gzipped = encoder.write_all(body).and_then(|()| encoder.finish());
    gzipped.map(Bytes::from).map_err(|error| {
        tracing::error!(%error, "gzip compression failed");
        ApiError::internal()
    })
}

pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip")
            && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}
