//! Files of the site: its manifest, its service worker, what robots and old browsers request, and the web
//! client's own.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde_json::json;

use super::locale::Words;
use super::response::{takes_gzip, text};
use crate::http::error::ApiError;
use crate::http::state::Http;

/// Revalidated each time: they name the current version.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

pub(crate) async fn manifest(State(http): State<Http>, headers: HeaderMap) -> Result<Response, ApiError> {
    let (words, assets) = (Words::for_reader(&headers), &http.assets);
    let icon = |file: &str, sizes: &str, kind: &str, purpose: &str| json!({ "src": format!("{assets}/{file}"), "sizes": sizes, "type": kind, "purpose": purpose });
    let manifest = json!({
        "id": "/",
        "name": "Pinhole",
        "short_name": "Pinhole",
        "description": words.page.about,
        "lang": words.tag,
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
        "shortcuts": [{ "name": words.page.new, "url": "/new" }],
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
    let mut response = text("application/manifest+json", manifest.to_string().into(), takes_gzip(&headers))?;
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    response
        .headers_mut()
        .insert(http::header::VARY, HeaderValue::from_static("Accept-Encoding, Accept-Language"));
    Ok(response)
}

pub(crate) async fn worker(State(http): State<Http>, headers: HeaderMap) -> Result<Response, ApiError> {
    let mut response =
        text("text/javascript; charset=utf-8", http.assets.worker().into(), takes_gzip(&headers))?;
    let policy = HeaderValue::from_static("default-src 'none'; script-src 'self'; connect-src 'self'");
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// Search engines may read the pages; the API's own paths would only show them the same again.
pub(crate) async fn robots() -> Response {
    let rules = "User-agent: *\nDisallow: /feed\nDisallow: /posts/\nDisallow: /users/\n";
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], rules).into_response()
}

/// Asked for by browsers that read no page first.
pub(crate) async fn favicon(State(http): State<Http>) -> Result<Response, ApiError> {
    http.assets.by_name("icon.svg", false).ok_or_else(missing)
}

/// A file of the web client.
pub(crate) async fn asset(
    State(http): State<Http>,
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    http.assets.versioned(&version, &name, takes_gzip(&headers)).ok_or_else(missing)
}

fn missing() -> ApiError {
    ApiError::not_found("there is no such file")
}
