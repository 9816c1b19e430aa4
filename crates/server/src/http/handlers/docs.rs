//! The contract, for programs at `/openapi.json` and for people at `/docs`.

use std::sync::{Arc, LazyLock};

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use utoipa_swagger_ui::{Config, serve};

use crate::http::error::ApiError;
use crate::http::json::json_bytes;
use crate::http::state::Http;

/// Swagger UI has inline styles; everything else comes from this server alone.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

static CONFIG: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("/openapi.json").use_base_layout()));

pub(crate) async fn openapi(State(http): State<Http>) -> Response {
    json_bytes(StatusCode::OK, http.openapi.clone())
}

pub(crate) async fn redirect() -> impl IntoResponse {
    ([(CONTENT_SECURITY_POLICY, POLICY)], Redirect::to("/docs/"))
}

pub(crate) async fn index() -> Result<Response, ApiError> {
    swagger_ui("")
}

pub(crate) async fn asset(Path(path): Path<String>) -> Result<Response, ApiError> {
    swagger_ui(&path)
}

fn swagger_ui(path: &str) -> Result<Response, ApiError> {
    let file = serve(path, CONFIG.clone()).map_err(|error| {
        tracing::error!(%error, "Swagger UI could not be configured");
        ApiError::internal()
    })?;
    let file = file.ok_or_else(|| ApiError::of_status(StatusCode::NOT_FOUND))?;
    let mut response = ([(CONTENT_TYPE, file.content_type)], file.bytes).into_response();
    if file.gzpipped {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY);
    Ok(response)
}
