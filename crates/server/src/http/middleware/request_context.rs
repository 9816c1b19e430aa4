//! The middleware around every handler: request id, rate limit, CSRF check, panic handling, memory of
//! requests, error bodies, metrics and the request log.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use app::Client;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::header::{ALLOW, CONNECTION, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Uri};
use model::Clock;
use prometheus_client::metrics::histogram::Histogram;

use crate::http::error::ApiError;
use crate::http::middleware::csrf::is_forged;
use crate::http::middleware::endpoint::Endpoint;
use crate::http::middleware::request_id::{REQUEST_ID, RequestId};
use crate::http::middleware::request_log::{self, id, of_request};
use crate::http::pages::error_page::ErrorPage;
use crate::http::path_parameters::PathParameters;
use crate::http::state::Http;

/// A year. Without `includeSubDomains`: those are for the operator to decide.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The state of a request that the middleware keeps while the handler runs.
pub(crate) struct RequestContext {
    started: Instant,
    id: RequestId,
    method: Method,
    uri: Uri,
    endpoint: Endpoint,
    error_page: Option<ErrorPage>,
}

impl RequestContext {
    pub(crate) fn new(http: &Http, parts: &Parts, endpoint: Endpoint, error_page: Option<ErrorPage>) -> Self {
        Self {
            started: Clock::monotonic(),
            id: RequestId::of(&parts.headers, &http.request_ids),
            method: parts.method.clone(),
            // Shares the bytes of the request head.
            uri: parts.uri.clone(),
            endpoint,
            error_page,
        }
    }

    /// Checks the rate limit and the `Host` header, and rejects cross-site request forgery (CSRF).
    pub(crate) fn admit(&self, http: &Http, parts: &Parts) -> Result<(), ApiError> {
        let head = http.head(parts);
        if !self.endpoint.is_probe {
            if http.is_on_reserve() {
                return Err(ApiError::too_many_connections());
            }
            http.rate_limits.request(http.arrival.client, &http.clock)?;
        }
        if !head.has_valid_host() {
            return Err(ApiError::invalid_host());
        }
        if is_forged(self.endpoint.csrf, &http.addresses, head, http.session_cookie.name) {
            return Err(ApiError::cross_site());
        }
        Ok(())
    }

    /// Runs the handler, completes its response, and records it in metrics and log. `read_latency` is the
    /// histogram of successful reads, if the row has one.
    pub(crate) async fn finish(
        self,
        http: &Http,
        read_latency: Option<&Histogram>,
        response: Result<impl Future<Output = Response>, ApiError>,
    ) -> Response {
        of_request(self.id, self.respond(http, read_latency, response)).await
    }

    async fn respond(
        self,
        http: &Http,
        read_latency: Option<&Histogram>,
        response: Result<impl Future<Output = Response>, ApiError>,
    ) -> Response {
        let Self { started, id: request_id, method, uri, endpoint, error_page } = self;
        let response = match response {
            Ok(response) => {
                let response = async {
                    if endpoint.has_read_barrier
                        && let Err(error) = http.app.read_barrier().await
                    {
                        return ApiError::from(error).into_response();
                    }
                    response.await
                };
                let caught = AssertUnwindSafe(response).catch_unwind().await;
                caught.unwrap_or_else(|panic| panicked(&*panic))
            }
            Err(error) => error.into_response(),
        };
        let (client, user) = (http.arrival.client, request_log::user());
        let holder = Client::anonymous(client);
        let holder = user.map_or(holder, |user| holder.with_user(user));
        let connection = http.arrival.connection.as_deref();
        let mut response = http.request_memory.reserve(connection, holder, response).await;
        let error = response.extensions_mut().remove::<ApiError>();
        let error = error.or_else(|| is_error(&response).then(|| ApiError::from_status(response.status())));
        if let Some(error) = &error {
            let allow = response.headers_mut().remove(ALLOW);
            response = match error_page {
                Some(page) => page.render(http, error, request_id.as_str()).await,
                None => error.respond(request_id.as_str()),
            };
            response.headers_mut().extend(allow.map(|methods| (ALLOW, methods)));
        }
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REQUEST_ID, request_id.header());
        if http.is_on_reserve() {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if http.addresses.is_https() {
            headers.insert(STRICT_TRANSPORT_SECURITY, HSTS);
        }

        let (status, took) = (response.status(), started.elapsed());
        match read_latency {
            Some(histogram) if status == StatusCode::OK => histogram.observe(took.as_secs_f64()),
            _ => http.metrics.request(&method, endpoint.label, status, took),
        }
        let route = endpoint.label;
        let (status, took_ms) = (status.as_u16(), (took.as_secs_f64() * 100_000.0).round() / 100.0);
        let code = error.as_ref().map(ApiError::code);
        let user_id = user.map(|user| user.0);
        let parameters = PathParameters { route, path: uri.path() };
        let text = |name| id(parameters, name);
        let number = |name| id(parameters, name).and_then(|id| id.parse::<i64>().ok());
        macro_rules! log {
            ($level:ident) => {
                tracing::$level!(
                    %method, route, status, code, %client, took_ms, user_id,
                    username = text("username"), post_id = number("post_id"),
                    photo_id = text("photo_id"), upload_id = text("upload_id"),
                    report_id = number("report_id"), session_id = text("session_id"),
                    invitation_id = text("invitation_id"), tag = text("tag"),
                    "request completed"
                )
            };
        }
        // Successful reads are most requests, so they are logged at debug level.
        match &error {
            Some(error) if error.is_failure() => log!(error),
            None if method.is_safe() => log!(debug),
            _ => log!(info),
        }
        response
    }
}

fn is_error(response: &Response) -> bool {
    response.status().is_client_error() || response.status().is_server_error()
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("(no message)"), "handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, ApiError::internal()).into_response()
}
