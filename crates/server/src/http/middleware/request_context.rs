//! The middleware around every handler: request id, rate limit, CSRF check, panic handling, memory of
//! requests, error bodies, metrics and the request log.

use std::any::Any;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, CONNECTION, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode, Uri};
use model::Clock;
use prometheus_client::metrics::histogram::Histogram;
use tower::layer::layer_fn;
use tower::{Layer, Service};
use tracing::Instrument;

use crate::connection::Connection;
use crate::http::error::ApiError;
use crate::http::middleware::addresses::Head;
use crate::http::middleware::csrf::is_forged;
use crate::http::middleware::endpoint::Endpoint;
use crate::http::middleware::request_id::{REQUEST_ID, RequestId};
use crate::http::middleware::request_log::{PathIds, with_user};
use crate::http::pages::error_page::ErrorPage;
use crate::http::state::Http;

/// A year. Without `includeSubDomains`: those are for the operator to decide.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The tower layer that wraps the handlers of an endpoint in the middleware.
pub(crate) fn middleware(
    http: &Http,
    endpoint: Endpoint,
) -> impl Layer<Route, Service = Middleware> + Clone + Send + Sync + 'static {
    let http = http.clone();
    layer_fn(move |inner| Middleware { http: http.clone(), endpoint, inner })
}

/// A handler with its middleware. It is a single tower service, since each layer costs every request a few
/// allocations.
#[derive(Clone)]
pub(crate) struct Middleware {
    http: Http,
    endpoint: Endpoint,
    inner: Route,
}

impl Service<Request> for Middleware {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let error_page = self.endpoint.has_error_pages.then(|| ErrorPage::of(&request)).flatten();
        let context = RequestContext::new(&self.http, (&request).into(), self.endpoint, error_page);
        let response = match context.admit(&self.http, (&request).into()) {
            Ok(()) => Ok(self.inner.call(request).map(|Ok(response)| response)),
            Err(error) => Err(error),
        };
        let http = self.http.clone();
        Box::pin(async move { Ok(context.finish(&http, None, response).await) })
    }
}

/// The state of a request that the middleware keeps while the handler runs.
pub(crate) struct RequestContext {
    started: Instant,
    id: RequestId,
    method: Method,
    uri: Uri,
    client: IpAddr,
    /// Whether the connection is beyond the limits.
    is_reserve: bool,
    connection: Option<Arc<Connection>>,
    endpoint: Endpoint,
    error_page: Option<ErrorPage>,
}

impl RequestContext {
    pub(crate) fn new(
        http: &Http,
        head: Head<'_>,
        endpoint: Endpoint,
        error_page: Option<ErrorPage>,
    ) -> Self {
        Self {
            started: Clock::monotonic(),
            id: RequestId::of(head.headers, &http.request_ids),
            method: head.method.clone(),
            // Shares the bytes of the request head.
            uri: head.uri.clone(),
            client: http.client_address(head),
            is_reserve: head.connection.is_some_and(|connection| connection.is_reserve),
            connection: head.connection.cloned(),
            endpoint,
            error_page,
        }
    }

    /// Checks the rate limit and the `Host` header, and rejects cross-site request forgery (CSRF).
    pub(crate) fn admit(&self, http: &Http, head: Head<'_>) -> Result<(), ApiError> {
        if !self.endpoint.is_probe {
            if self.is_reserve {
                return Err(ApiError::too_many_connections());
            }
            http.rate_limits.request(self.client, &http.clock)?;
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
    /// histogram of successful reads, if the caller has looked it up.
    pub(crate) async fn finish(
        self,
        http: &Http,
        read_latency: Option<&Histogram>,
        response: Result<impl Future<Output = Response>, ApiError>,
    ) -> Response {
        let Self { started, id, method, uri, client, is_reserve, connection, endpoint, error_page } = self;
        // Of the level of errors, so that their lines have the id whatever `log` is.
        let span = tracing::error_span!("request", request_id = id.as_str());
        let (response, user) = match response {
            Ok(response) => {
                let response = async {
                    if endpoint.has_read_barrier
                        && let Err(error) = http.app.read_barrier().await
                    {
                        return ApiError::from(error).into_response();
                    }
                    response.await
                };
                let caught = AssertUnwindSafe(response).catch_unwind().instrument(span.clone());
                let (response, user) = with_user(caught).await;
                (response.unwrap_or_else(|panic| span.in_scope(|| panicked(&*panic))), user)
            }
            Err(error) => (error.into_response(), None),
        };
        let mut response = http.request_memory.reserve(connection.as_deref(), client, response).await;
        let error = response.extensions_mut().remove::<ApiError>();
        let error = error.or_else(|| is_error(&response).then(|| ApiError::from_status(response.status())));
        if let Some(error) = &error {
            let allow = response.headers_mut().remove(ALLOW);
            let id = id.as_str();
            response = match error_page {
                Some(page) => page.render(http, error, id).await,
                None => error.respond(id),
            };
            response.headers_mut().extend(allow.map(|methods| (ALLOW, methods)));
        }
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REQUEST_ID, id.0);
        if is_reserve {
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
        let _in_span = span.enter();
        let route = endpoint.label;
        let (status, took_ms) = (status.as_u16(), (took.as_secs_f64() * 100_000.0).round() / 100.0);
        let code = error.as_ref().map(ApiError::code);
        let (user_id, ids) = (user.map(|user| user.0), PathIds { route, path: uri.path() });
        macro_rules! log {
            ($level:ident) => {
                tracing::$level!(
                    %method, route, status, code, %client, took_ms, user_id,
                    username = ids.text("username"), post_id = ids.number("post_id"),
                    photo_id = ids.text("photo_id"), upload_id = ids.text("upload_id"),
                    report_id = ids.number("report_id"), session_id = ids.text("session_id"),
                    invitation_id = ids.text("invitation_id"), tag = ids.text("tag"),
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
