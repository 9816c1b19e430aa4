//! The state that all handlers share: axum's `State` extractor passes it to them.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use app::{App, Caller, Client, Notice};
use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use model::Clock;

use crate::config::Config;
use crate::connection::Connection;
use crate::http::form;
use crate::http::form::memory::FormMemory;
use crate::http::form::{BodyLimits, BodyReader, FileSink, FormData, FormError};
use crate::http::middleware::addresses::{Addresses, Head};
use crate::http::middleware::rate_limit::RateLimits;
use crate::http::middleware::request_id::RequestIds;
use crate::http::middleware::request_log;
use crate::http::middleware::request_memory::RequestMemory;
use crate::http::pages::assets::Assets;
use crate::http::pages::shared::Marker;
use crate::http::path_parameters::PathParameters;
use crate::http::response_cache::ResponseCache;
use crate::http::session_cookie::SessionCookie;
use crate::metrics::Metrics;

/// A handle to the shared state, and what the dispatcher knows of the request that it is for.
#[derive(Clone)]
pub(crate) struct Http {
    shared: Arc<Shared>,
    pub(super) arrival: Arrival,
}

/// A request, beside its head.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// `None` for the handle of the process.
    pub(super) connection: Option<Arc<Connection>>,
    /// The path of the matched row of the route table.
    pub(super) route: &'static str,
    /// The address of the client, as trusted proxies forward it.
    pub(super) client: IpAddr,
}

pub(crate) struct Shared {
    pub(super) app: App,
    pub(super) clock: Clock,
    pub(super) addresses: Addresses,
    pub(super) session_cookie: SessionCookie,
    pub(super) rate_limits: Arc<RateLimits>,
    pub(super) request_ids: RequestIds,
    pub(super) metrics: Arc<Metrics>,
    pub(super) request_memory: RequestMemory,
    pub(super) assets: Assets,
    pub(super) responses: Arc<ResponseCache>,
    /// Marks the slots of shared pages.
    pub(super) marker: Marker,
    /// The OpenAPI document as JSON.
    pub(super) openapi: Bytes,
    small_body_limits: BodyLimits,
    upload_limits: BodyLimits,
}

impl Deref for Http {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// The largest body without a photo, in bytes: enough for the longest text parameters, even percent-encoded.
/// An upload may have this much in addition to its photo.
pub(super) const MAX_SMALL_BODY: u64 = 256 * 1024;

/// The longest upload of a file that is larger than a photo: 4 GiB at 1.6 Mbit/s.
const MAX_UPLOAD_TIME: Duration = Duration::from_secs(6 * 60 * 60);

impl Http {
    pub(crate) fn new(
        app: App,
        clock: Clock,
        config: &Config,
        metrics: Arc<Metrics>,
        openapi: Bytes,
    ) -> Self {
        let small_body_limits = BodyLimits {
            max_bytes: MAX_SMALL_BODY,
            idle_timeout: config.body_timeout,
            total_timeout: config.body_timeout,
        };
        let responses = Arc::new(ResponseCache::new(&app));
        let rate_limits = Arc::new(RateLimits::new(config));
        let (subscriber, subscriber_clock) = (rate_limits.clone(), clock.clone());
        app.on_notice(move |notice| {
            if let Notice::Login(attempt) = notice {
                subscriber.apply(*attempt, &subscriber_clock);
            }
        });
        let shared = Shared {
            responses,
            marker: Marker::random().expect("the operating system has random bytes"),
            app,
            clock,
            addresses: Addresses::new(config),
            session_cookie: SessionCookie::new(config),
            rate_limits,
            request_ids: RequestIds::new(),
            metrics,
            request_memory: RequestMemory::new(),
            assets: Assets::new(),
            openapi,
            small_body_limits,
            upload_limits: BodyLimits { total_timeout: config.upload_timeout, ..small_body_limits },
        };
        let arrival = Arrival { connection: None, route: "", client: IpAddr::from([0, 0, 0, 0]) };
        Self { shared: Arc::new(shared), arrival }
    }

    /// The handle for a request.
    pub(super) fn of_request(
        &self,
        connection: Arc<Connection>,
        route: &'static str,
        headers: &HeaderMap,
    ) -> Self {
        let client = self.addresses.client(connection.peer, headers);
        Self { shared: self.shared.clone(), arrival: Arrival { connection: Some(connection), route, client } }
    }

    /// Reads a form that has no file parameter.
    pub(super) async fn read_form(
        &self,
        headers: &HeaderMap,
        body: Body,
        known: &[&'static str],
        memory: FormMemory,
    ) -> Result<FormData, FormError> {
        FormData::read(headers, body, self.small_body_limits, known, &mut form::NoFile, memory).await
    }

    /// Reads a form with a file of up to `max_file` bytes. Only a multipart body may be larger than
    /// [`MAX_SMALL_BODY`]: a urlencoded one is buffered in memory.
    pub(super) async fn read_upload_form(
        &self,
        headers: &HeaderMap,
        body: Body,
        known: &[&'static str],
        max_file: u64,
        file: &mut impl FileSink,
        memory: FormMemory,
    ) -> Result<FormData, FormError> {
        let file_bytes = if form::is_multipart(headers) { max_file } else { 0 };
        // A larger file than a photo may take longer in proportion.
        let photos = u32::try_from(max_file.div_ceil(self.app.max_upload().max(1))).unwrap_or(u32::MAX);
        let longest = self.upload_limits.total_timeout.max(MAX_UPLOAD_TIME);
        let limits = BodyLimits {
            max_bytes: file_bytes + MAX_SMALL_BODY,
            total_timeout: self.upload_limits.total_timeout.saturating_mul(photos.max(1)).min(longest),
            ..self.upload_limits
        };
        FormData::read(headers, body, limits, known, file, memory).await
    }

    /// A reader of a body that is no form: a piece of an upload.
    pub(super) fn read_piece(&self, body: Body, max_bytes: u64) -> BodyReader {
        BodyReader::new(body, BodyLimits { max_bytes, ..self.upload_limits })
    }

    /// The largest form with a photo.
    pub(super) fn max_upload_form(&self) -> u64 {
        self.app.max_upload() + MAX_SMALL_BODY
    }

    /// The memory of the form of a request.
    pub(super) fn form_memory(&self) -> FormMemory {
        let client = self.client(None);
        let client = request_log::user().map_or(client, |user| client.with_user(user));
        self.request_memory.form(self.arrival.connection.as_deref(), client)
    }

    /// The client of the request, to the fair queues.
    pub(super) fn client(&self, caller: Option<&Caller>) -> Client {
        let client = Client::anonymous(self.arrival.client);
        caller.map_or(client, |caller| client.with_user(caller.user.id))
    }

    /// Whether the connection is beyond the limits.
    pub(super) fn is_on_reserve(&self) -> bool {
        self.arrival.connection.as_ref().is_some_and(|connection| connection.is_reserve)
    }

    /// The service's own base URL, for links in the response.
    pub(super) fn base_url(&self, parts: &Parts) -> String {
        self.addresses.base_url(self.head(parts))
    }

    pub(super) fn path_parameters<'a>(&self, parts: &'a Parts) -> PathParameters<'a> {
        PathParameters { route: self.arrival.route, path: parts.uri.path() }
    }

    pub(super) fn head<'a>(&'a self, parts: &'a Parts) -> Head<'a> {
        let Parts { method, uri, version, headers, .. } = parts;
        Head { method, uri, version: *version, headers, connection: self.arrival.connection.as_deref() }
    }
}
