//! The HTTP interface: the API, the web client, and the middleware around both.

mod dto;
mod error;
mod extract;
mod fast_path;
mod form;
mod front;
mod handlers;
mod json;
mod middleware;
mod openapi;
mod pages;
mod routes;
mod session_cookie;
mod state;
mod written;

use std::sync::Arc;

use app::App;
use model::Clock;
use utoipa::openapi::OpenApi;

use crate::config::Config;
use crate::metrics::Metrics;
pub(crate) use fast_path::Dispatcher;
pub(crate) use front::Front;
use state::Http;

/// The handler of all requests, and the cache of the feed's first page.
pub(crate) fn dispatcher(
    app: App,
    clock: Clock,
    config: &Config,
    metrics: Arc<Metrics>,
) -> (Arc<Dispatcher>, Arc<Front>) {
    let openapi = serde_json::to_vec(&openapi_document()).expect("plain data serializes to JSON");
    let http = Http::new(app, clock, config, metrics, openapi.into());
    let front = http.front();
    (Arc::new(Dispatcher::new(routes::table::table(), http)), front)
}

/// The contract of the API, as it is served and committed.
pub fn openapi_document() -> OpenApi {
    openapi::document(routes::table::table())
}
