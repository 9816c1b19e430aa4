//! Signs of life, for whatever watches over the service.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::error::ApiError;
use super::json::json;
use super::state::Http;
use super::wire::Empty;

pub(crate) async fn livez() -> Response {
    json(StatusCode::OK, &Empty {})
}

pub(crate) async fn readyz(State(http): State<Http>) -> Result<Response, ApiError> {
    match http.app.ready().await {
        Ok(()) => Ok(json(StatusCode::OK, &Empty {})),
        Err(error) => {
            tracing::error!(%error, "not ready");
            Err(ApiError::not_ready())
        }
    }
}
