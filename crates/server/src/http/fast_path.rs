//! The fast path: the most frequent operations without axum's router, its boxed futures and its request extensions,
//! which gains a fifth of their time. Its routes are the rows of the route table that are marked `fast`; a request
//! that matches none of them, or is written in an unusual way, goes to the router and gets the same response.

use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use model::{PhotoId, PostId, Size};
use prometheus_client::metrics::histogram::Histogram;

use super::address::{Ends, Head};
use super::auth::{OptionalSession, RequiredSession};
use super::error::Problem;
use super::layers::Attention;
use super::likes::Change;
use super::photos::Found;
use super::route::{Endpoint, Route, router};
use super::wire::json_headers;
use super::{Http, answers, feed, likes, photos, posts};
use crate::listener::{Answer, Answered};
use crate::sent::Aside;
use crate::stream::InFile;

/// Handles every request, on the fast path or through the router.
pub(crate) struct Dispatcher {
    http: Http,
    fast: Vec<FastRow>,
    router: Router,
}

/// A row of the route table that the fast path handles.
struct FastRow {
    method: Method,
    path: &'static str,
    parse: ParseFast,
    endpoint: Endpoint,
    /// The histogram of successful reads, looked up once.
    reads: Option<Histogram>,
}

/// Parses the parameters of a path, in their order.
pub(crate) type ParseFast = fn([&str; 2]) -> Option<FastRoute>;

impl Dispatcher {
    pub(crate) fn new(routes: Vec<Route>, http: Http) -> Self {
        let fast = routes.iter().filter_map(|route| {
            Some(FastRow {
                method: route.method.clone(),
                path: route.path,
                parse: route.fast?,
                endpoint: route.endpoint,
                reads: (route.method == Method::GET).then(|| http.metrics.reads(route.endpoint.label)),
            })
        });
        let fast = fast.collect();
        Self { fast, router: router(routes, &http), http }
    }

    fn find(&self, head: &Parts) -> Option<(&FastRow, FastRoute)> {
        self.fast.iter().find_map(|row| {
            let matched = row.method == head.method;
            let parameters = matched.then(|| parameters(row.path, head.uri.path())).flatten()?;
            Some((row, (row.parse)(parameters)?))
        })
    }
}

/// The texts that stand for the parameters of `pattern` in a path that matches it. They are not decoded: one with an
/// escape does not parse, and is left to the router.
fn parameters<'a>(pattern: &str, path: &'a str) -> Option<[&'a str; 2]> {
    let mut parameters = [""; 2];
    let (mut free, mut segments) = (parameters.iter_mut(), path.split('/'));
    for expected in pattern.split('/') {
        let segment = segments.next()?;
        if expected.starts_with('{') {
            *free.next()? = segment;
        } else if expected != segment {
            return None;
        }
    }
    segments.next().is_none().then_some(parameters)
}

impl Answer for Arc<Dispatcher> {
    async fn answer(self, head: Parts, body: Body, ends: Ends) -> Answered {
        match self.find(&head) {
            Some((row, route)) => {
                route.run(&self.http, row, Head { ends: Some(ends), ..(&head).into() }).await
            }
            None => self.router.clone().answer(head, body, ends).await,
        }
    }
}

/// A request on the fast path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FastRoute {
    Feed,
    Post(PostId),
    Image(PhotoId, Size),
    Like(PostId, Change),
}

impl FastRoute {
    pub(crate) fn feed(_: [&str; 2]) -> Option<Self> {
        Some(Self::Feed)
    }

    pub(crate) fn post([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Post(id.parse().ok()?))
    }

    pub(crate) fn image([id, size]: [&str; 2]) -> Option<Self> {
        Some(Self::Image(id.parse().ok()?, size.parse().ok()?))
    }

    pub(crate) fn like([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Like(id.parse().ok()?, Change::Like))
    }

    pub(crate) fn unlike([id, _]: [&str; 2]) -> Option<Self> {
        Some(Self::Like(id.parse().ok()?, Change::Unlike))
    }

    async fn run(self, http: &Http, row: &FastRow, head: Head<'_>) -> Answered {
        let attention = Attention::to(http, head, row.endpoint, None);
        let admitted = attention.guard(http, head);
        let mut aside = Aside::default();
        let response = {
            // Pinned here and passed by reference: every function that took it by value would copy it.
            let answer = pin!(self.answer(http, head, &mut aside));
            attention.pay(http, row.reads.as_ref(), admitted.map(|()| answer)).await
        };
        Answered { response, aside }
    }

    async fn answer(self, http: &Http, head: Head<'_>, aside: &mut Aside) -> Response {
        match self.try_answer(http, head, aside).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn try_answer(self, http: &Http, head: Head<'_>, aside: &mut Aside) -> Result<Response, Problem> {
        let (status, json) = match self {
            Self::Feed => {
                let OptionalSession(caller) = OptionalSession::of(http, head.headers).await?;
                (StatusCode::OK, feed::read(http, head, caller.as_ref()).await?)
            }
            Self::Post(id) => {
                let OptionalSession(caller) = OptionalSession::of(http, head.headers).await?;
                (StatusCode::OK, posts::read(http, caller.as_ref(), id).await?)
            }
            Self::Image(id, size) => {
                let photo = http.app.photo(id).await?;
                let found = photos::find(http, &photo, size, head.headers).await?;
                let status = found.status();
                let Found { head, image } = found;
                let Some(image) = image else { return Ok(respond(status, head, Body::empty())) };
                let bytes = image.bytes;
                aside.in_file = image.file.map(|file| InFile { bytes: bytes.clone(), file });
                return Ok(send(status, head, bytes, aside));
            }
            // Writes are boxed: a read must not carry the state of a write, which waits for the disk.
            Self::Like(id, change) => {
                let caller = RequiredSession::of(http, head.headers).await?;
                Box::pin(likes::apply(http, &caller, id, change)).await?
            }
        };
        Ok(send(status, json_headers(None), json, aside))
    }
}

/// A small body overrides that of the response; a large one is part of it, so that the response budget counts it.
fn send(status: StatusCode, head: HeaderMap, bytes: Bytes, aside: &mut Aside) -> Response {
    if bytes.len() > answers::SMALL {
        return respond(status, head, bytes.into());
    }
    aside.whole = Some(bytes);
    respond(status, head, Body::empty())
}

fn respond(status: StatusCode, head: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = head;
    response
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    #[test]
    fn the_response_budget_counts_large_bodies() {
        for (size, is_counted) in [(answers::SMALL, false), (answers::SMALL + 1, true)] {
            let mut aside = Aside::default();
            let response = send(StatusCode::OK, HeaderMap::new(), vec![7; size].into(), &mut aside);
            let counted = response.body().size_hint().exact();
            assert_eq!(counted, Some(if is_counted { size as u64 } else { 0 }), "{size}");
            assert_eq!(aside.whole.map(|whole| whole.len()), (!is_counted).then_some(size), "{size}");
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
            assert_eq!(parameters(pattern, path), expected, "{pattern} {path}");
        }
    }
}
