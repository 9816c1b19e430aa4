//! The operators' own listener: metrics, and nothing the public should see.

use std::sync::Arc;

use app::App;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};

use crate::config::Secret;
use crate::http::ResponseCache;
use crate::metrics::Metrics;

#[derive(Clone)]
struct Admin {
    app: App,
    metrics: Arc<Metrics>,
    responses: Arc<ResponseCache>,
    token: Option<Secret>,
}

pub(crate) fn router(
    app: App,
    metrics: Arc<Metrics>,
    responses: Arc<ResponseCache>,
    token: Option<Secret>,
) -> Router {
    Router::new().route("/metrics", get(show)).with_state(Admin { app, metrics, responses, token })
}

async fn show(State(admin): State<Admin>, headers: HeaderMap) -> Response {
    if let Some(token) = &admin.token
        && !presents(&headers, token)
    {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], "send the admin token\n")
            .into_response();
    }
    let mut stats = match admin.app.stats().await {
        Ok(stats) => stats,
        Err(error) => {
            tracing::error!(%error, "no figures for the metrics");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    stats.caches.extend(admin.responses.stats());
    match admin.metrics.encode(&stats) {
        Ok(text) => {
            let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, media_type)], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn presents(headers: &HeaderMap, token: &Secret) -> bool {
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    sent.is_some_and(|sent| token.matches(sent))
}
