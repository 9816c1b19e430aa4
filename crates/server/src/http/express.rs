//! What most requests ask for is answered without the router: no boxes, no extensions, no copies of routes. The answers
//! are the same: whatever is written in an unusual way takes the long way to them.

use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use model::{PhotoId, PostId, Size};
use prometheus_client::metrics::histogram::Histogram;

use super::address::{Ends, Head};
use super::error::Problem;
use super::layers::Attention;
use super::photos::Found;
use super::{Http, answers, auth, feed, photos, posts};
use crate::listener::{Answer, Answered};
use crate::metrics::{Metrics, Route};
use crate::sent::Aside;
use crate::stream::InFile;

/// Where every request comes in.
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

impl Answer for Arc<Door> {
    async fn answer(self, head: Parts, body: Body, ends: Ends) -> Answered {
        match Errand::of(&head) {
            Some(errand) => errand.run(&self.http, Head { ends: Some(ends), ..(&head).into() }).await,
            None => self.router.clone().answer(head, body, ends).await,
        }
    }
}

/// What a request is for, where that is plain to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errand {
    Feed,
    Post(PostId),
    Image(PhotoId, Size),
}

impl Errand {
    fn of(parts: &Parts) -> Option<Self> {
        if parts.method != Method::GET {
            return None;
        }
        // What does not read as it should, an escape for one, is the router's to undo or to refuse.
        let path = parts.uri.path();
        if path == FEED {
            return Some(Self::Feed);
        }
        if let Some(id) = path.strip_prefix("/posts/") {
            return Some(Self::Post(id.parse().ok()?));
        }
        let (id, size) = path.strip_prefix("/photos/")?.split_once('/')?;
        Some(Self::Image(id.parse().ok()?, size.parse().ok()?))
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
        let mut aside = Aside::default();
        let response = {
            // Pinned here and handed on by reference: every function it went through by value would copy it.
            let answer = pin!(self.answer(http, head, &mut aside));
            attention.pay(http, Some(counted), admitted.map(|()| answer)).await
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
        let json = match self {
            Self::Feed => {
                let caller = auth::caller(http, head.headers).await?;
                feed::read(http, head, caller.as_ref()).await?
            }
            Self::Post(id) => {
                let caller = auth::caller(http, head.headers).await?;
                posts::read(http, caller.as_ref(), id).await?
            }
            Self::Image(id, size) => {
                let photo = http.app.photo(id).await?;
                let Found { head, image } = photos::find(http, &photo, size, head.headers).await?;
                let Some(image) = image else {
                    return Ok(respond(StatusCode::NOT_MODIFIED, head, Body::empty()));
                };
                let bytes = image.bytes;
                aside.in_file = image.file.map(|file| InFile { bytes: bytes.clone(), file });
                return Ok(send(head, bytes, aside));
            }
        };
        let mut head = HeaderMap::with_capacity(6);
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(send(head, json, aside))
    }
}

/// What is small goes past the response; what is large is counted on its way out, as part of it.
fn send(head: HeaderMap, bytes: Bytes, aside: &mut Aside) -> Response {
    if bytes.len() > answers::SMALL {
        return respond(StatusCode::OK, head, bytes.into());
    }
    aside.whole = Some(bytes);
    respond(StatusCode::OK, head, Body::empty())
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
    fn a_large_answer_does_not_go_past_those_who_count_it() {
        for (size, is_counted) in [(answers::SMALL, false), (answers::SMALL + 1, true)] {
            let mut aside = Aside::default();
            let response = send(HeaderMap::new(), vec![7; size].into(), &mut aside);
            let counted = response.body().size_hint().exact();
            assert_eq!(counted, Some(if is_counted { size as u64 } else { 0 }), "{size}");
            assert_eq!(aside.whole.map(|whole| whole.len()), (!is_counted).then_some(size), "{size}");
        }
    }
}
