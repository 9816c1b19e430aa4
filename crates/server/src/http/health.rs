//! Signs of life, for whatever watches over the service.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::Http;
use super::error::Problem;
use super::wire::{Empty, json};

/// Is the process alive?
#[utoipa::path(
    get, path = "/livez", tag = "health", operation_id = "livez",
    responses((status = 200, description = "It is", body = Empty)),
    security(()),
)]
pub(crate) async fn livez() -> Response {
    json(StatusCode::OK, &Empty {})
}

/// Can it serve?
///
/// Asks the database and the blob store.
#[utoipa::path(
    get, path = "/readyz", tag = "health", operation_id = "readyz",
    responses((status = 200, description = "It can", body = Empty)),
    security(()),
)]
pub(crate) async fn readyz(State(http): State<Http>) -> Result<Response, Problem> {
    match http.app.ready().await {
        Ok(()) => Ok(json(StatusCode::OK, &Empty {})),
        Err(error) => {
            tracing::error!(%error, "not ready");
            Err(Problem::not_ready())
        }
    }
}
