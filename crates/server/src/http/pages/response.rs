//! HTTP responses for pages and text files: security headers and compression.

use std::io::Write;

use askama::Template;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::http::error::ApiError;
use crate::http::json::respond;

/// Nothing from other origins, nothing inline, and Trusted Types for script URLs.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'; require-trusted-types-for 'script'; trusted-types pinhole";

/// Browser features that no page uses.
const PERMISSIONS_POLICY: &str = "camera=(), microphone=(), geolocation=(), payment=(), usb=()";

/// Bodies below this many bytes are not compressed: that saves nothing there.
const MIN_COMPRESSED_BYTES: usize = 1024;

/// A content coding that is made while a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Coding {
    Identity,
    Gzip,
    /// Takes less time than gzip, for fewer bytes.
    Zstd,
}

impl Coding {
    /// The best one that the client accepts.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        match headers {
            headers if accepts(headers, "zstd") => Self::Zstd,
            headers if accepts(headers, "gzip") => Self::Gzip,
            _ => Self::Identity,
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Compresses a body that is large enough; returns it with the coding that it has then.
    pub(super) fn apply(self, body: Bytes) -> Result<(Self, Bytes), ApiError> {
        let compressed = match self {
            Self::Gzip if body.len() >= MIN_COMPRESSED_BYTES => gzip(&body, Compression::fast())?,
            Self::Zstd if body.len() >= MIN_COMPRESSED_BYTES => {
                zstd::bulk::compress(&body, ZSTD_LEVEL).map_err(failed)?.into()
            }
            _ => return Ok((Self::Identity, body)),
        };
        Ok((self, compressed))
    }
}

const ZSTD_LEVEL: i32 = 1;

pub(super) fn render(page: &impl Template) -> Result<String, ApiError> {
    page.render().map_err(|error| {
        tracing::error!(%error, "page template failed to render");
        ApiError::internal()
    })
}

/// An HTML page whose body has this coding.
pub(super) fn html(coding: Coding, body: Bytes) -> Response {
    // With capacity for the headers that the middleware adds.
    let mut headers = HeaderMap::with_capacity(12);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
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
    headers.extend(coding.name().map(|name| (CONTENT_ENCODING, HeaderValue::from_static(name))));
    respond(StatusCode::OK, headers, body)
}

/// A text body, compressed as the client accepts it.
pub(super) fn text(media_type: &'static str, body: Bytes, accepted: Coding) -> Result<Response, ApiError> {
    let (coding, body) = accepted.apply(body)?;
    Ok(text_response(media_type, body, coding))
}

/// A response with a body that is already in its final encoding.
pub(super) fn text_response(media_type: &'static str, body: Bytes, coding: Coding) -> Response {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.extend(coding.name().map(|name| (CONTENT_ENCODING, HeaderValue::from_static(name))));
    respond(StatusCode::OK, headers, body)
}

pub(super) fn gzip(body: &[u8], level: Compression) -> Result<Bytes, ApiError> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), level);
    let gzipped = encoder.write_all(body).and_then(|()| encoder.finish());
    gzipped.map(Bytes::from).map_err(failed)
}

fn failed(error: std::io::Error) -> ApiError {
    tracing::error!(%error, "compression failed");
    ApiError::internal()
}

pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    accepts(headers, "gzip")
}

fn accepts(headers: &HeaderMap, name: &str) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (coding, weight) = coding.split_once(';').unwrap_or((coding, ""));
        coding.trim().eq_ignore_ascii_case(name)
            && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}
