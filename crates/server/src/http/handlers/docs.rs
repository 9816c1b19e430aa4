//! The API reference: the OpenAPI document at `/openapi.json`, and Swagger UI at `/docs/`.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, StatusCode, Uri};
use utoipa_swagger_ui::{Config, serve};

use crate::http::error::ApiError;
use crate::http::json::json_bytes;
use crate::http::state::Http;

/// The Content-Security-Policy of Swagger UI: it needs inline styles, and all other resources come from this
/// server.
const CSP: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

static CONFIG: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("/openapi.json").use_base_layout()));

pub(crate) async fn openapi(State(http): State<Http>) -> Response {
    json_bytes(StatusCode::OK, http.openapi.clone())
}

pub(crate) async fn redirect() -> impl IntoResponse {
    ([(CONTENT_SECURITY_POLICY, CSP)], Redirect::to("/docs/"))
}

pub(crate) async fn index() -> Result<Response, ApiError> {
    swagger_ui("")
}

pub(crate) async fn asset(uri: Uri) -> Result<Response, ApiError> {
    swagger_ui(uri.path().trim_start_matches("/docs/"))
}

fn swagger_ui(path: &str) -> Result<Response, ApiError> {
    let file = serve(path, CONFIG.clone()).map_err(|error| {
        tracing::error!(%error, "Swagger UI failed to serve its configuration");
        ApiError::internal()
    })?;
    let file = file.ok_or_else(|| ApiError::from_status(StatusCode::NOT_FOUND))?;
    let mut response = ([(CONTENT_TYPE, file.content_type)], file.bytes).into_response();
    if file.gzpipped {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, CSP);
    Ok(response)
}
