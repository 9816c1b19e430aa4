//! What most requests ask for is answered without the router: no boxes, no extensions, no copies of routes. The answers
//! are the same: whatever is written in an unusual way takes the long way to them.

use std::pin::pin;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use model::PostId;
use prometheus_client::metrics::histogram::Histogram;

use super::address::{Ends, Head};
use super::error::Problem;
use super::layers::Attention;
use super::path::Named;
use super::photos::Found;
use super::{Http, auth, feed, photos, posts};
use crate::listener::{Answer, Answered};
use crate::metrics::{Metrics, Route};
use crate::stream::InFile;

/// Where every request comes in.
#[derive(Clone)]
pub(crate) struct Door {
    pub(super) http: Http,
    pub(super) router: Router,
}

/// Where errands are counted.
pub(super) struct Counted {
    feed: Histogram,
    post: Histogram,
    image: Histogram,
}

const FEED: &str = "/feed";
const POST: &str = "/posts/{post_id}";
const IMAGE: &str = "/photos/{photo_id}/{size}";

impl Counted {
    pub(super) fn by(metrics: &Metrics) -> Self {
        Self { feed: metrics.reads(FEED), post: metrics.reads(POST), image: metrics.reads(IMAGE) }
    }
}

impl Answer for Door {
    async fn answer(self, request: Request, ends: Ends) -> Answered {
        let Self { http, router } = self;
        let (parts, body) = request.into_parts();
        match Errand::of(&parts) {
            Some(errand) => errand.run(&http, Head { ends: Some(ends), ..(&parts).into() }).await,
            None => router.answer(Request::from_parts(parts, body), ends).await,
        }
    }
}

/// What a request is for, where that is plain to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errand<'a> {
    Feed,
    Post(&'a str),
    Image(&'a str, &'a str),
}

impl<'a> Errand<'a> {
    fn of(parts: &'a Parts) -> Option<Self> {
        if parts.method != Method::GET {
            return None;
        }
        // An escape is the router's to undo, and so is what is not there.
        let plain = |part: &&str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        let mut names = parts.uri.path().split('/').skip(1);
        let (first, second, third) = (names.next()?, names.next(), names.next());
        match (first, second, third) {
            _ if names.next().is_some() => None,
            ("feed", None, None) => Some(Self::Feed),
            ("posts", Some(id), None) if plain(&id) => Some(Self::Post(id)),
            ("photos", Some(id), Some(size)) if plain(&id) && plain(&size) => Some(Self::Image(id, size)),
            _ => None,
        }
    }

    /// As the router names it, and where it is counted.
    fn label(self, counted: &Counted) -> (Route, &Histogram) {
        let (name, counted) = match self {
            Self::Feed => (FEED, &counted.feed),
            Self::Post(_) => (POST, &counted.post),
            Self::Image(..) => (IMAGE, &counted.image),
        };
        (Route::Fixed(name), counted)
    }

    async fn run(self, http: &Http, head: Head<'_>) -> Answered {
        let (route, counted) = self.label(&http.counted);
        let attention = Attention::to(http, head, route, None);
        let admitted = attention.guard(http, head);
        let mut in_file = None;
        let response = {
            // Pinned here and handed on by reference: every function it went through by value would copy it.
            let answer = pin!(self.answer(http, head, &mut in_file));
            attention.pay(http, Some(counted), admitted.map(|()| answer)).await
        };
        Answered { response, in_file }
    }

    async fn answer(self, http: &Http, head: Head<'_>, in_file: &mut Option<InFile>) -> Response {
        match self.try_answer(http, head, in_file).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn try_answer(
        self,
        http: &Http,
        head: Head<'_>,
        in_file: &mut Option<InFile>,
    ) -> Result<Response, Problem> {
        let json = match self {
            Self::Feed => {
                let caller = auth::caller(http, head.headers).await?;
                feed::read(http, head, caller.as_ref()).await?
            }
            Self::Post(id) => {
                let caller = auth::caller(http, head.headers).await?;
                let id = id.parse().map_err(|_| Problem::not_found(PostId::MISSING))?;
                posts::read(http, caller.as_ref(), id).await?
            }
            Self::Image(id, size) => {
                let Found { head, image } = photos::find(http, id, size, head.headers).await?;
                let Some(image) = image else {
                    return Ok(respond(StatusCode::NOT_MODIFIED, head, Body::empty()));
                };
                let bytes = image.bytes;
                *in_file = image.file.map(|file| InFile { bytes: bytes.clone(), file });
                return Ok(respond(StatusCode::OK, head, bytes.into()));
            }
        };
        let mut head = HeaderMap::with_capacity(6);
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(respond(StatusCode::OK, head, json.into()))
    }
}

fn respond(status: StatusCode, head: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = head;
    response
}
