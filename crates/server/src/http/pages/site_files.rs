//! Files outside of the pages: web app manifest, service worker, `robots.txt`, `favicon.ico`, the licences of
//! third parties, and the web client's versioned assets.

use std::sync::OnceLock;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde_json::json;

use super::locale::Locale;
use super::response::{accepts_gzip, gzip, text, text_response};
use crate::http::error::ApiError;
use crate::http::state::Http;

/// Revalidated on every load: these files name the current asset version.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

pub(crate) async fn manifest(State(http): State<Http>, headers: HeaderMap) -> Result<Response, ApiError> {
    let (locale, assets) = (Locale::negotiate(&headers), &http.assets);
    let icon = |file: &str, sizes: &str, kind: &str, purpose: &str| json!({ "src": format!("{assets}/{file}"), "sizes": sizes, "type": kind, "purpose": purpose });
    let manifest = json!({
        "id": "/",
        "name": "Pinhole",
        "short_name": "Pinhole",
        "description": locale.page.about,
        "lang": locale.tag,
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#fbfaf7",
        "theme_color": "#fbfaf7",
        "icons": [
            icon("icon.svg", "any", "image/svg+xml", "any"),
            icon("icon-192.png", "192x192", "image/png", "any"),
            icon("icon-512.png", "512x512", "image/png", "any"),
            icon("icon-maskable-512.png", "512x512", "image/png", "maskable"),
        ],
        "shortcuts": [{ "name": locale.page.new, "url": "/new" }],
        "share_target": {
            "action": "/share",
            "method": "POST",
            "enctype": "multipart/form-data",
            "params": {
                "title": "title",
                "text": "text",
                "url": "url",
                "files": [{ "name": "photo", "accept": ["image/*"] }],
            },
        },
    });
    let mut response =
        text("application/manifest+json", manifest.to_string().into(), accepts_gzip(&headers))?;
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    response
        .headers_mut()
        .insert(http::header::VARY, HeaderValue::from_static("Accept-Encoding, Accept-Language"));
    Ok(response)
}

pub(crate) async fn service_worker(
    State(http): State<Http>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let source = http.assets.service_worker().into();
    let mut response = text("text/javascript; charset=utf-8", source, accepts_gzip(&headers))?;
    let policy = HeaderValue::from_static("default-src 'none'; script-src 'self'; connect-src 'self'");
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// The licences of all that the program contains. `scripts/licences` writes the file.
pub(crate) const LICENCES: &str = include_str!("../../../../../THIRD-PARTY-LICENCES.txt");

pub(crate) async fn licences(headers: HeaderMap) -> Result<Response, ApiError> {
    /// Half a megabyte, so it is compressed once.
    static GZIPPED: OnceLock<Bytes> = OnceLock::new();
    let is_gzipped = accepts_gzip(&headers);
    let body = match (is_gzipped, GZIPPED.get()) {
        (false, _) => Bytes::from_static(LICENCES.as_bytes()),
        (true, Some(gzipped)) => gzipped.clone(),
        (true, None) => {
            let gzipped = gzip(LICENCES.as_bytes(), Compression::best())?;
            GZIPPED.get_or_init(|| gzipped).clone()
        }
    };
    let mut response = text_response("text/plain; charset=utf-8", body, is_gzipped);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Ok(response)
}

/// Search engines may index the pages; the API's paths would only duplicate them.
pub(crate) async fn robots() -> Response {
    let rules = "User-agent: *\nDisallow: /feed\nDisallow: /posts/\nDisallow: /users/\n";
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], rules).into_response()
}

/// Requested by browsers without a page that links the icon.
pub(crate) async fn favicon(State(http): State<Http>) -> Result<Response, ApiError> {
    http.assets.by_name("icon.svg", false).ok_or_else(missing)
}

/// An asset below `/web/{version}/`.
pub(crate) async fn asset(
    State(http): State<Http>,
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    http.assets.versioned(&version, &name, accepts_gzip(&headers)).ok_or_else(missing)
}

fn missing() -> ApiError {
    ApiError::not_found("there is no such file")
}
