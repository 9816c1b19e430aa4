//! The middleware around every handler: request id, rate limit, CSRF check, panics, error bodies, metrics and
//! log.

use std::any::Any;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode};
use model::Clock;
use prometheus_client::metrics::histogram::Histogram;
use tower::layer::layer_fn;
use tower::{Layer, Service};
use tracing::Instrument;

use crate::http::error::ApiError;
use crate::http::middleware::addresses::Head;
use crate::http::middleware::endpoint::Endpoint;
use crate::http::middleware::request_id::{REQUEST_ID, RequestId};
use crate::http::pages::error_page::ErrorPage;
use crate::http::session_cookie::bearer;
use crate::http::state::Http;

/// The layer around the handlers of an endpoint.
pub(crate) fn middleware(
    http: &Http,
    endpoint: Endpoint,
) -> impl Layer<Route, Service = Middleware> + Clone + Send + Sync + 'static {
    let http = http.clone();
    layer_fn(move |inner| Middleware { http: http.clone(), endpoint, inner })
}

/// A handler with its middleware. One layer for all of it, since each would cost every request a few
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

/// What is known of a request before it is handled.
pub(crate) struct RequestContext {
    started: Instant,
    id: RequestId,
    method: Method,
    client: IpAddr,
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
            client: http.client_address(head.addrs, head.headers),
            endpoint,
            error_page,
        }
    }

    /// Rejects requests beyond the rate limit and cross-site request forgery.
    pub(crate) fn admit(&self, http: &Http, head: Head<'_>) -> Result<(), ApiError> {
        let Head { method, headers, .. } = head;
        if self.endpoint.is_rate_limited {
            http.limits.request(self.client, &http.clock)?;
        }
        if http.addresses.is_cross_origin_write(method, headers, http.cookie.name)
            && bearer(headers).is_none()
        {
            return Err(ApiError::cross_site());
        }
        Ok(())
    }

    /// Runs the handler and completes its response. `reads` is the histogram of successful reads, where it is
    /// known.
    pub(crate) async fn finish(
        self,
        http: &Http,
        reads: Option<&Histogram>,
        response: Result<impl Future<Output = Response>, ApiError>,
    ) -> Response {
        let Self { started, id, method, client, endpoint, error_page } = self;
        let span = tracing::info_span!("request", id = id.as_str());
        let response = match response {
            Ok(response) => {
                let caught = AssertUnwindSafe(response).catch_unwind().instrument(span.clone());
                match caught.await {
                    Ok(response) => response,
                    Err(panic) => panicked(&*panic),
                }
            }
            Err(error) => error.into_response(),
        };
        let mut response = http.response_budget.reserve(response).await;
        let error = response.extensions_mut().remove::<ApiError>();
        let error = error.or_else(|| is_error(&response).then(|| ApiError::of_status(response.status())));
        if let Some(error) = &error {
            let allow = response.headers_mut().remove(ALLOW);
            let id = id.as_str();
            response = error_page.map_or_else(|| error.respond(id), |page| page.render(http, error, id));
            response.headers_mut().extend(allow.map(|methods| (ALLOW, methods)));
        }
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REQUEST_ID, id.0);

        let (status, took) = (response.status(), started.elapsed());
        match reads {
            Some(reads) if status == StatusCode::OK => reads.observe(took.as_secs_f64()),
            _ => http.metrics.request(&method, endpoint.label, status, took),
        }
        let _in_span = span.enter();
        let route = endpoint.label;
        let (status, took_ms) = (status.as_u16(), (took.as_secs_f64() * 100_000.0).round() / 100.0);
        // Successful reads are most of the requests: they are logged at debug level.
        match error.as_ref().map(|error| (error.is_failure(), error.code())) {
            Some((true, code)) => {
                tracing::error!(%method, route, status, code, %client, took_ms, "request completed");
            }
            Some((false, code)) => {
                tracing::info!(%method, route, status, code, %client, took_ms, "request completed");
            }
            None if method.is_safe() => {
                tracing::debug!(%method, route, status, %client, took_ms, "request completed");
            }
            None => tracing::info!(%method, route, status, %client, took_ms, "request completed"),
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
    tracing::error!(panic = text.unwrap_or("(no message)"), "a handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, ApiError::internal()).into_response()
}
