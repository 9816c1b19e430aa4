//! The page at the service's address, and the files it is made of.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};

use super::Http;

/// Nothing from elsewhere, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

macro_rules! file {
    ($path:literal, $media_type:literal) => {
        get(|| std::future::ready(page($media_type, include_bytes!(concat!("../../../../web/", $path)))))
    };
}

pub(super) fn router() -> Router<Http> {
    Router::new()
        .route("/", file!("index.html", "text/html; charset=utf-8"))
        .route("/web/style.css", file!("style.css", "text/css; charset=utf-8"))
        .route("/web/home.js", file!("home.js", "text/javascript; charset=utf-8"))
        .route("/favicon.ico", file!("icon.svg", "image/svg+xml"))
}

fn page(media_type: &'static str, bytes: &'static [u8]) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_LENGTH, HeaderValue::from(bytes.len())),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, bytes).into_response()
}
