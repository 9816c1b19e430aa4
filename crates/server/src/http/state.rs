//! The state that all handlers share: axum's `State` extractor passes it to them.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use app::{App, Caller, Client, Notice};
use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use model::Clock;

use crate::config::Config;
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
use crate::http::response_cache::ResponseCache;
use crate::http::session_cookie::SessionCookie;
use crate::metrics::Metrics;

/// A handle to the shared state; a clone copies one `Arc`.
#[derive(Clone)]
pub(crate) struct Http(Arc<Shared>);

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
        &self.0
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
        Self(Arc::new(Shared {
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
        }))
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
    pub(super) fn form_memory(&self, head: Head<'_>) -> FormMemory {
        let client = self.client(head, None);
        let client = request_log::user().map_or(client, |user| client.with_user(user));
        self.request_memory.form(head.connection.map(|connection| &**connection), client)
    }

    /// The client of a request, to the fair queues.
    pub(super) fn client(&self, head: Head<'_>, caller: Option<&Caller>) -> Client {
        let client = Client::anonymous(self.client_address(head));
        caller.map_or(client, |caller| client.with_user(caller.user.id))
    }

    pub(super) fn client_address(&self, head: Head<'_>) -> IpAddr {
        // The listener sets the connection of every request. Without one (in tests) all clients share one
        // address, and so one rate limit.
        let unknown = IpAddr::from([0, 0, 0, 0]);
        head.connection.map_or(unknown, |connection| self.addresses.client(connection.peer, head.headers))
    }
}
