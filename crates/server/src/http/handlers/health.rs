//! Signs of life, for whatever watches over the service.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use crate::http::dto::Empty;
use crate::http::error::ApiError;
use crate::http::json::json;
use crate::http::state::Http;

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
