//! The state that every handler shares.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use app::App;
use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use model::Clock;

use crate::config::Config;
use crate::connection::ConnectionAddrs;
use crate::http::form;
use crate::http::form::{BodyLimits, FileSink, Form, FormError};
use crate::http::middleware::addresses::Addresses;
use crate::http::middleware::rate_limit::RateLimits;
use crate::http::middleware::request_id::RequestIds;
use crate::http::middleware::response_budget::ResponseBudget;
use crate::http::pages::assets::Assets;
use crate::http::response_cache::ResponseCache;
use crate::http::session_cookie::SessionCookie;
use crate::metrics::Metrics;

/// A handle to the state; clones are cheap.
#[derive(Clone)]
pub(crate) struct Http(Arc<Shared>);

pub(crate) struct Shared {
    pub(super) app: App,
    pub(super) clock: Clock,
    pub(super) addresses: Addresses,
    pub(super) cookie: SessionCookie,
    pub(super) limits: RateLimits,
    pub(super) request_ids: RequestIds,
    pub(super) metrics: Arc<Metrics>,
    pub(super) response_budget: ResponseBudget,
    pub(super) assets: Assets,
    pub(super) responses: Arc<ResponseCache>,
    /// The OpenAPI document.
    pub(super) openapi: Bytes,
    small_body: BodyLimits,
    upload: BodyLimits,
}

impl Deref for Http {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// A body of text parameters is smaller than this, even percent-encoded; an upload has so much beside its
/// photo.
pub(super) const SMALL_BODY: u64 = 256 * 1024;

impl Http {
    pub(crate) fn new(
        app: App,
        clock: Clock,
        config: &Config,
        metrics: Arc<Metrics>,
        openapi: Bytes,
    ) -> Self {
        let small_body =
            BodyLimits { max_bytes: SMALL_BODY, pause: config.body_timeout, total: config.body_timeout };
        let responses = ResponseCache::new(&app);
        Self(Arc::new(Shared {
            responses,
            app,
            clock,
            addresses: Addresses::new(config),
            cookie: SessionCookie::new(config),
            limits: RateLimits::new(config),
            request_ids: RequestIds::new(),
            metrics,
            response_budget: ResponseBudget::new(),
            assets: Assets::new(),
            openapi,
            small_body,
            upload: BodyLimits { total: config.upload_timeout, ..small_body },
        }))
    }

    /// Reads a form without a file.
    pub(super) async fn form(
        &self,
        headers: &HeaderMap,
        body: Body,
        known: &[&'static str],
    ) -> Result<Form, FormError> {
        Form::read(headers, body, self.small_body, known, &mut form::NoFile).await
    }

    /// Reads an upload; only as multipart may it be larger than other bodies.
    pub(super) async fn upload_form(
        &self,
        headers: &HeaderMap,
        body: Body,
        known: &[&'static str],
        photo: &mut impl FileSink,
    ) -> Result<Form, FormError> {
        let photo_bytes = if form::is_multipart(headers) { self.app.max_upload() } else { 0 };
        let max_bytes = photo_bytes + SMALL_BODY;
        Form::read(headers, body, BodyLimits { max_bytes, ..self.upload }, known, photo).await
    }

    pub(super) fn client_address(&self, addrs: Option<ConnectionAddrs>, headers: &HeaderMap) -> IpAddr {
        // The listener sets the addresses of every connection; without them all clients are one.
        addrs.map_or(IpAddr::from([0, 0, 0, 0]), |addrs| self.addresses.client(addrs.peer, headers))
    }
}
