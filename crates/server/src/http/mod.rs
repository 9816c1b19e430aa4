//! How the world reaches the service: every route, and the layers around them.

mod accounts;
pub(crate) mod address;
mod answers;
mod auth;
mod docs;
mod error;
mod fast_path;
mod feed;
mod form;
mod front;
mod health;
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
mod route;
mod routes;
mod upload;
mod users;
mod wire;
mod written;

use std::convert::Infallible;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use app::App;
use axum::body::Body;
use axum::extract::FromRequestParts;
use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use model::Clock;
use utoipa::openapi::OpenApi;

use crate::config::Config;
use crate::metrics::Metrics;
use address::{Addresses, Ends};
use answers::Answers;
use auth::Cookie;
pub(crate) use fast_path::Dispatcher;
use form::{Bounds, FileSink, Form, FormError};
pub(crate) use front::Front;
use limits::Limits;
use openapi::Argument;

/// What every handler can reach.
#[derive(Clone)]
pub(crate) struct Http(Arc<Shared>);

pub(crate) struct Shared {
    app: App,
    clock: Clock,
    addresses: Addresses,
    cookie: Cookie,
    limits: Limits,
    request_ids: layers::RequestIds,
    metrics: Arc<Metrics>,
    answers: Answers,
    assets: pages::Assets,
    front: Arc<Front>,
    /// The OpenAPI document.
    openapi: Bytes,
    small_body: Bounds,
    upload: Bounds,
}

impl Deref for Http {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// A body of text parameters is smaller than this, even percent-encoded; an upload has so much beside its photo.
const SMALL_BODY: u64 = 256 * 1024;

impl Http {
    pub(crate) fn new(app: App, clock: Clock, config: &Config, metrics: Arc<Metrics>) -> Self {
        let bounds = Bounds { max_bytes: SMALL_BODY, pause: config.body_timeout, total: config.body_timeout };
        Self(Arc::new(Shared {
            app,
            clock,
            addresses: Addresses::new(config),
            cookie: Cookie::new(config),
            limits: Limits::new(config),
            request_ids: layers::RequestIds::new(),
            metrics,
            answers: Answers::new(),
            assets: pages::Assets::new(),
            front: Arc::default(),
            openapi: serde_json::to_vec(&openapi_document()).expect("plain data serializes to JSON").into(),
            small_body: bounds,
            upload: Bounds { total: config.upload_timeout, ..bounds },
        }))
    }

    /// The first page of the feed, and how often it was at hand.
    pub(crate) fn front(&self) -> Arc<Front> {
        self.front.clone()
    }

    /// Reads the text parameters an operation knows.
    async fn form(&self, headers: &HeaderMap, body: Body, known: &[&'static str]) -> Result<Form, FormError> {
        Form::read(headers, body, self.small_body, known, &mut form::NoFile).await
    }

    /// Reads an upload; only as multipart may it be larger than other bodies.
    async fn upload_form(
        &self,
        headers: &HeaderMap,
        body: Body,
        known: &[&'static str],
        photo: &mut impl FileSink,
    ) -> Result<Form, FormError> {
        let photo_bytes = if form::is_multipart(headers) { self.app.max_upload() } else { 0 };
        let max_bytes = photo_bytes + SMALL_BODY;
        Form::read(headers, body, Bounds { max_bytes, ..self.upload }, known, photo).await
    }
}

/// Everything the service answers to.
pub(crate) fn dispatcher(http: Http) -> Arc<Dispatcher> {
    let routes = routes::table();
    Arc::new(Dispatcher::new(routes, http))
}

/// The contract of the API, as it is served and committed.
pub fn openapi_document() -> OpenApi {
    openapi::document(routes::table())
}

/// The address of whoever sent the request, as far as we can believe it.
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl FromRequestParts<Http> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Infallible> {
        Ok(Self(http.client_address(parts.extensions.get().copied(), &parts.headers)))
    }
}

impl Argument for ClientAddress {}

impl Shared {
    fn client_address(&self, ends: Option<Ends>, headers: &HeaderMap) -> IpAddr {
        // The listener notes the ends of every connection; without them nobody can be told apart.
        ends.map_or(IpAddr::from([0, 0, 0, 0]), |ends| self.addresses.client(ends.peer, headers))
    }
}
