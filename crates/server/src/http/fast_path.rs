//! The fast path: handles the most frequent operations without axum's router, its boxed futures and its
//! request extensions, which saves a fifth of their time. It handles the rows of the route table that are
//! marked `fast`. A request that matches none of them, or whose parameters do not parse, goes to the router
//! and gets the same response.

use std::pin::pin;
use std::sync::Arc;

use app::Client;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::IF_NONE_MATCH;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use prometheus_client::metrics::histogram::Histogram;

use crate::connection::{Connection, HandledResponse, RequestHandler};
use crate::http::error::ApiError;
use crate::http::extract::session::{OptionalSession, RequiredSession};
use crate::http::handlers::photos::ImageResponse;
use crate::http::handlers::{feed, likes, photos, posts};
use crate::http::json::json_headers;
use crate::http::middleware::addresses::Head;
use crate::http::middleware::endpoint::Endpoint;
use crate::http::middleware::request_context::RequestContext;
use crate::http::middleware::request_memory::SMALL_RESPONSE;
use crate::http::routes::fast_route::{FastRoute, ParseFastRoute};
use crate::http::routes::route::Route;
use crate::http::routes::router::router;
use crate::http::state::Http;
use crate::response_body::BodyOverride;
use crate::stream::SendfileSource;

/// Dispatches every request to the fast path or to the router.
pub(crate) struct Dispatcher {
    http: Http,
    fast_rows: Vec<FastRow>,
    router: Router,
}

/// A row of the route table that the fast path handles.
struct FastRow {
    method: Method,
    path: &'static str,
    parse: ParseFastRoute,
    endpoint: Endpoint,
    /// The latency histogram of successful reads, looked up once instead of for each request.
    read_latency: Option<Histogram>,
}

impl Dispatcher {
    pub(crate) fn new(routes: Vec<Route>, http: Http) -> Self {
        let fast_rows = routes.iter().filter_map(|route| {
            Some(FastRow {
                method: route.method.clone(),
                path: route.path,
                parse: route.fast?,
                endpoint: route.endpoint,
                read_latency: (route.method == Method::GET)
                    .then(|| http.metrics.successful_gets(route.endpoint.label)),
            })
        });
        let fast_rows = fast_rows.collect();
        Self { fast_rows, router: router(routes, &http), http }
    }

    fn match_fast_route(&self, head: &Parts) -> Option<(&FastRow, FastRoute)> {
        self.fast_rows.iter().find_map(|row| {
            let is_method = row.method == head.method;
            let parameters = is_method.then(|| match_path(row.path, head.uri.path())).flatten()?;
            let route = (row.parse)(parameters)?;
            // The handler of the router computes the entity tag of a feed.
            let is_poll = matches!(route, FastRoute::Feed) && head.headers.contains_key(IF_NONE_MATCH);
            (!is_poll).then_some((row, route))
        })
    }
}

/// The parameters of `pattern` in a path that matches it. They are not percent-decoded: one with an escape
/// does not parse, so the request goes to the router.
fn match_path<'a>(pattern: &str, path: &'a str) -> Option<[&'a str; 2]> {
    let mut parameters = [""; 2];
    let (mut next_parameter, mut segments) = (parameters.iter_mut(), path.split('/'));
    for expected in pattern.split('/') {
        let segment = segments.next()?;
        if expected.starts_with('{') {
            *next_parameter.next()? = segment;
        } else if expected != segment {
            return None;
        }
    }
    segments.next().is_none().then_some(parameters)
}

impl RequestHandler for Arc<Dispatcher> {
    async fn handle(self, head: Parts, body: Body, connection: Arc<Connection>) -> HandledResponse {
        match self.match_fast_route(&head) {
            Some((row, route)) => {
                run(&self.http, row, route, Head { connection: Some(&connection), ..(&head).into() }).await
            }
            None => self.router.clone().handle(head, body, connection).await,
        }
    }
}

async fn run(http: &Http, row: &FastRow, route: FastRoute, head: Head<'_>) -> HandledResponse {
    let context = RequestContext::new(http, head, row.endpoint, None);
    let admitted = context.admit(http, head);
    let mut body = BodyOverride::default();
    let response = {
        // Pinned here and passed by reference: a function that took the future by value would copy it.
        let response = pin!(handle(route, http, head, &mut body));
        context.finish(http, row.read_latency.as_ref(), admitted.map(|()| response)).await
    };
    HandledResponse { response, body }
}

async fn handle(route: FastRoute, http: &Http, head: Head<'_>, body: &mut BodyOverride) -> Response {
    match try_handle(route, http, head, body).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn try_handle(
    route: FastRoute,
    http: &Http,
    head: Head<'_>,
    body: &mut BodyOverride,
) -> Result<Response, ApiError> {
    let (status, json) = match route {
        FastRoute::Feed => {
            let OptionalSession(caller) = OptionalSession::of(http, head.headers).await?;
            (StatusCode::OK, feed::read(http, head, caller.as_ref()).await?)
        }
        FastRoute::Post(id) => {
            let OptionalSession(caller) = OptionalSession::of(http, head.headers).await?;
            (StatusCode::OK, posts::read(http, caller.as_ref(), id).await?)
        }
        FastRoute::Image(id, size) => {
            let photo = photos::find(http, id, head.headers).await?;
            let client = Client::anonymous(http.client_address(head));
            let response = photos::image_response(http, client, &photo, size, head.headers).await?;
            let status = response.status();
            let ImageResponse { headers, image } = response;
            let Some(image) = image else { return Ok(respond(status, headers, Body::empty())) };
            let bytes = image.bytes;
            body.sendfile = image.file.map(|file| SendfileSource { bytes: bytes.clone(), file });
            return Ok(send(status, headers, bytes, body));
        }
        // Boxed, so that the large future of a write does not enlarge the future of every read.
        FastRoute::Like(id, action) => {
            let caller = RequiredSession::of(http, head.headers).await?;
            Box::pin(likes::apply(http, &caller, id, action)).await?
        }
    };
    Ok(send(status, json_headers(None), json, body))
}

/// Puts a small body into the override, which skips axum's boxed body, and a large one into the response,
/// where it is counted.
fn send(status: StatusCode, headers: HeaderMap, bytes: Bytes, body: &mut BodyOverride) -> Response {
    if bytes.len() > SMALL_RESPONSE {
        return respond(status, headers, bytes.into());
    }
    body.full = Some(bytes);
    respond(status, headers, Body::empty())
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    #[test]
    fn large_bodies_are_counted() {
        for (size, is_counted) in [(SMALL_RESPONSE, false), (SMALL_RESPONSE + 1, true)] {
            let mut body = BodyOverride::default();
            let response = send(StatusCode::OK, HeaderMap::new(), vec![7; size].into(), &mut body);
            let counted = response.body().size_hint().exact();
            assert_eq!(counted, Some(if is_counted { size as u64 } else { 0 }), "{size} bytes");
            assert_eq!(body.full.map(|full| full.len()), (!is_counted).then_some(size), "{size} bytes");
        }
    }

    #[test]
    fn a_pattern_matches_whole_paths() {
        for (pattern, path, expected) in [
            ("/feed", "/feed", Some(["", ""])),
            ("/feed", "/feed/", None),
            ("/feed", "/feeds", None),
            ("/posts/{post_id}", "/posts/7", Some(["7", ""])),
            ("/posts/{post_id}", "/posts/7/likes", None),
            ("/posts/{post_id}", "/posts", None),
            ("/posts/{post_id}/likes", "/posts/7/likes", Some(["7", ""])),
            ("/photos/{photo_id}/{size}", "/photos/a/8x8", Some(["a", "8x8"])),
            ("/photos/{photo_id}/{size}", "/photos/a", None),
        ] {
            assert_eq!(match_path(pattern, path), expected, "{pattern} {path}");
        }
    }
}
