//! The health probes for load balancers and orchestrators: liveness (`/livez`) and readiness (`/readyz`).

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use crate::http::dto::Empty;
use crate::http::error::ApiError;
use crate::http::json::json;
use crate::http::state::Http;

/// Liveness: the process handles requests. It checks no dependency, since a restart would not repair one.
pub(crate) async fn livez() -> Response {
    json(StatusCode::OK, &Empty {})
}

/// Readiness: the database and the blob store are available.
pub(crate) async fn readyz(State(http): State<Http>) -> Result<Response, ApiError> {
    match http.app.ready().await {
        Ok(()) => Ok(json(StatusCode::OK, &Empty {})),
        Err(error) => {
            tracing::error!(%error, "readiness probe failed");
            Err(ApiError::not_ready(&error))
        }
    }
}
