//! The HTTP interface: the API, the web client, and the middleware around both.

mod accounts;
mod address;
mod answers;
mod auth;
mod client_address;
mod docs;
mod endpoint;
mod error;
mod fast_path;
mod fast_route;
mod feed;
mod form;
mod form_body;
mod front;
mod health;
mod json;
mod layers;
mod likes;
mod limits;
mod openapi;
mod pages;
mod paging;
mod path;
mod photos;
mod posts;
mod profile;
mod request_id;
mod route;
mod router;
mod routes;
mod session_cookie;
mod state;
mod upload;
mod users;
mod wire;
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
    (Arc::new(Dispatcher::new(routes::table(), http)), front)
}

/// The contract of the API, as it is served and committed.
pub fn openapi_document() -> OpenApi {
    openapi::document(routes::table())
}
