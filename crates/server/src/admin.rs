//! The admin listener, which serves `/metrics` apart from the public listener.

use std::sync::Arc;

use app::App;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{AUTHORIZATION, CONTENT_TYPE, VARY, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::config::Secret;
use crate::exposition::ExpositionFormat;
use crate::http::ResponseCache;
use crate::metrics::Metrics;

#[derive(Clone)]
struct AdminState {
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
    Router::new().route("/metrics", get(get_metrics)).with_state(AdminState {
        app,
        metrics,
        responses,
        token,
    })
}

async fn get_metrics(State(admin): State<AdminState>, headers: HeaderMap) -> Response {
    if let Some(token) = &admin.token
        && !is_authorized(&headers, token)
    {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], "send the admin token\n")
            .into_response();
    }
    let mut stats = admin.app.stats().await;
    stats.caches.extend(admin.responses.stats());
    let format = ExpositionFormat::negotiated(&headers);
    match admin.metrics.encode(&stats, format) {
        Ok(text) => ([(CONTENT_TYPE, format.media_type()), (VARY, HeaderValue::from_static("accept"))], text)
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics: encoding failed");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn is_authorized(headers: &HeaderMap, token: &Secret) -> bool {
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    sent.is_some_and(|sent| token.matches(sent))
}
