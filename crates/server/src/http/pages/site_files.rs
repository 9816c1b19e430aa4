//! Files outside of the pages: web app manifest, service worker, `robots.txt`, `favicon.ico`, the licences of
//! third parties, and the web client's versioned assets.

use std::sync::OnceLock;

use app::Client;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use flate2::Compression;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Uri};
use model::ValidationError;
use serde_json::json;

use super::accent::PAPER;
use super::layout::Layout;
use super::locale::Locale;
use super::response::{Coding, accepts_gzip, gzip, text, text_response};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::state::Http;
use crate::links;

/// The end of the query of a maskable icon.
const MASKABLE: &str = "&maskable";

/// Revalidated on every load: these files name the current asset version.
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");

pub(crate) async fn manifest(State(http): State<Http>, headers: HeaderMap) -> Result<Response, ApiError> {
    let (locale, instance) = (Locale::negotiate(&headers), http.app.instance().await?);
    let (layout, assets) = (Layout::bare(&http, locale, None, &instance), &http.assets);
    let icon = |src: String, sizes: &str, kind: &str, purpose: &str| json!({ "src": src, "sizes": sizes, "type": kind, "purpose": purpose });
    let drawn = instance.logo.is_none().then(|| format!("{assets}/icon.svg"));
    let maskable = match &instance.logo {
        Some(logo) => links::icon(logo, 512) + MASKABLE,
        None => format!("{assets}/icon-maskable-512.png"),
    };
    let icons: Vec<_> = drawn
        .map(|src| icon(src, "any", "image/svg+xml", "any"))
        .into_iter()
        .chain([
            icon(layout.icon(192), "192x192", "image/png", "any"),
            icon(layout.icon(512), "512x512", "image/png", "any"),
            icon(maskable, "512x512", "image/png", "maskable"),
        ])
        .collect();
    let manifest = json!({
        "id": "/",
        "name": instance.name(),
        "short_name": instance.name(),
        "description": layout.description(),
        "lang": locale.tag,
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": PAPER,
        "theme_color": PAPER,
        "icons": icons,
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
        text("application/manifest+json", manifest.to_string().into(), Coding::accepted(&headers))?;
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
    let instance = http.app.instance().await?;
    let source = http.assets.service_worker(&instance).into();
    let mut response = text("text/javascript; charset=utf-8", source, Coding::accepted(&headers))?;
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
    let coding = if is_gzipped { Coding::Gzip } else { Coding::Identity };
    let mut response = text_response("text/plain; charset=utf-8", body, coding);
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
    match &http.app.instance().await?.logo {
        Some(logo) => Ok(Redirect::temporary(&links::icon(logo, 48)).into_response()),
        None => http.assets.by_name("icon.svg", false).ok_or_else(missing),
    }
}

/// The logo as a PNG. Its URL has its version.
pub(crate) async fn icon(
    State(http): State<Http>,
    ClientAddress(address): ClientAddress,
    uri: Uri,
) -> Result<Response, ApiError> {
    let instance = http.app.instance().await?;
    let size = uri.path().trim_start_matches("/logo/");
    let size = size.parse().map_err(|rule: ValidationError| ApiError::bad_size(rule.message))?;
    let query = uri.query().unwrap_or_default();
    let maskable = query.strip_suffix(MASKABLE);
    let icon = http.app.icon(Client::anonymous(address), size, maskable.is_some()).await?;
    let current = instance.logo.as_ref().map(links::logo_query);
    let is_current = current.as_deref() == Some(maskable.unwrap_or(query));
    let headers = [(CONTENT_TYPE, "image/png"), (CACHE_CONTROL, links::cache_control(is_current))];
    Ok((headers, icon).into_response())
}

/// An asset below `/web/{version}/`.
pub(crate) async fn asset(
    State(http): State<Http>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (version, name) = uri.path().trim_start_matches("/web/").split_once('/').ok_or_else(missing)?;
    http.assets.versioned(version, name, accepts_gzip(&headers)).ok_or_else(missing)
}

fn missing() -> ApiError {
    ApiError::not_found("there is no such file")
}
