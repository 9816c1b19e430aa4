//! Signs of life, for whatever watches over the service.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::Http;
use super::error::Problem;
use super::wire::{Empty, json};

pub(crate) async fn livez() -> Response {
    json(StatusCode::OK, &Empty {})
}

pub(crate) async fn readyz(State(http): State<Http>) -> Result<Response, Problem> {
    match http.app.ready().await {
        Ok(()) => Ok(json(StatusCode::OK, &Empty {})),
        Err(error) => {
            tracing::error!(%error, "not ready");
            Err(Problem::not_ready())
        }
    }
}
