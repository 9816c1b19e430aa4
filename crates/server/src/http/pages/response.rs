//! How pages and their files are answered: with every guard a browser knows, and small.

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

/// Nothing from elsewhere, nothing inline, and text cannot become script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'; require-trusted-types-for 'script'; trusted-types pinhole";

/// A page uses none of these.
const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), payment=(), usb=()";

/// Smaller things do not get smaller.
const WORTH_PACKING: usize = 1024;

pub(super) fn page(page: &impl Template, gzip: bool) -> Result<Response, ApiError> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page could not be written");
        ApiError::internal()
    })?;
    let mut response = text("text/html; charset=utf-8", html.into(), gzip)?;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
        // Kept for the way back, asked for anew otherwise.
        (CACHE_CONTROL, "private, no-cache"),
        (VARY, "Accept-Encoding, Accept-Language, Cookie"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// A text, packed for those who take it so.
pub(super) fn text(media_type: &'static str, plain: Bytes, gzip: bool) -> Result<Response, ApiError> {
    let packed = gzip && plain.len() >= WORTH_PACKING;
    let body = if packed { pack(&plain, Compression::fast())? } else { plain };
    Ok(packed_text(media_type, body, packed))
}

pub(super) fn packed_text(media_type: &'static str, body: Bytes, packed: bool) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_LENGTH, HeaderValue::from(body.len())),
        (VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    let mut response = (headers, body).into_response();
    if packed {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

pub(super) fn pack(plain: &[u8], effort: Compression) -> Result<Bytes, ApiError> {
    let mut packer = GzEncoder::new(Vec::with_capacity(plain.len() / 3), effort);
    let packed = packer.write_all(plain).and_then(|()| packer.finish());
    packed.map(Bytes::from).map_err(|error| {
        tracing::error!(%error, "a text could not be packed");
        ApiError::internal()
    })
}

pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip")
            && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}
