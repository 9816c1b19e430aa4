//! The HTTP interface: the API, the web client, and the middleware around both.

mod dispatcher;
mod dto;
mod error;
mod etag;
mod extract;
mod form;
#[cfg(any(test, fuzzing))]
mod fuzzing;
mod handlers;
mod json;
pub(crate) mod middleware;
mod openapi;
mod pages;
mod path_parameters;
mod post_json;
mod response_cache;
mod routes;
mod session_cookie;
mod state;

use std::sync::Arc;

use app::App;
use model::Clock;
use utoipa::openapi::OpenApi;

use crate::config::Config;
use crate::metrics::Metrics;
pub(crate) use dispatcher::Dispatcher;
#[cfg(any(test, fuzzing))]
pub use form::fuzzing::check_multipart;
#[cfg(any(test, fuzzing))]
pub use fuzzing::check_forms;
pub(crate) use pages::site_files::LICENCES;
pub(crate) use response_cache::ResponseCache;
use routes::route::Route;
use state::Http;

/// Builds the dispatcher of all requests and the response cache, whose statistics the metrics read.
pub(crate) fn dispatcher(
    app: App,
    clock: Clock,
    config: &Config,
    metrics: Arc<Metrics>,
) -> (Arc<Dispatcher>, Arc<ResponseCache>) {
    let openapi = serde_json::to_vec(&openapi_document()).expect("plain data serializes to JSON");
    let http = Http::new(app, clock, config, metrics, openapi.into());
    let responses = http.responses.clone();
    (Arc::new(Dispatcher::new(routes::table::table(), http)), responses)
}

/// The OpenAPI document, as `/openapi.json` serves it and `docs/openapi.json` stores it.
pub fn openapi_document() -> OpenApi {
    openapi::document(routes::table::table().into_iter().filter_map(Route::operation), routes::table::TAGS)
}
