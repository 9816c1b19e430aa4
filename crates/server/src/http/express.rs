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
const LIKES: &str = "/posts/{post_id}/likes";

/// What is said where there is nothing to say but that it was done.
const EMPTY: Bytes = Bytes::from_static(b"{}");

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
    Like(PostId),
    Unlike(PostId),
}

impl Errand {
    fn of(parts: &Parts) -> Option<Self> {
        // What does not read as it should, an escape for one, is the router's to undo or to refuse.
        let path = parts.uri.path();
        match parts.method {
            Method::GET => Self::of_reader(path),
            Method::POST => liked(path).map(Self::Like),
            Method::DELETE => liked(path).map(Self::Unlike),
            _ => None,
        }
    }

    fn of_reader(path: &str) -> Option<Self> {
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
    fn label(self, counted: &Counted) -> (Route, Option<&Histogram>) {
        let (name, counted) = match self {
            Self::Feed => (FEED, Some(&counted.feed)),
            Self::Post(_) => (POST, Some(&counted.post)),
            Self::Image(..) => (IMAGE, Some(&counted.image)),
            Self::Like(_) | Self::Unlike(_) => (LIKES, None),
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
            attention.pay(http, counted, admitted.map(|()| answer)).await
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
                let caller = auth::caller(http, head.headers).await?;
                (StatusCode::OK, feed::read(http, head, caller.as_ref()).await?)
            }
            Self::Post(id) => {
                let caller = auth::caller(http, head.headers).await?;
                (StatusCode::OK, posts::read(http, caller.as_ref(), id).await?)
            }
            Self::Image(id, size) => {
                let photo = http.app.photo(id).await?;
                let Found { head, image } = photos::find(http, &photo, size, head.headers).await?;
                let Some(image) = image else {
                    return Ok(respond(StatusCode::NOT_MODIFIED, head, Body::empty()));
                };
                let bytes = image.bytes;
                aside.in_file = image.file.map(|file| InFile { bytes: bytes.clone(), file });
                return Ok(send(StatusCode::OK, head, bytes, aside));
            }
            // Writes are in boxes, so that those who read do not carry around what it takes to wait for the disk.
            Self::Like(id) => {
                let caller = auth::signed_in(http, head.headers).await?;
                Box::pin(http.app.like(&caller, id)).await?;
                (StatusCode::CREATED, EMPTY)
            }
            Self::Unlike(id) => {
                let caller = auth::signed_in(http, head.headers).await?;
                Box::pin(http.app.unlike(&caller, id)).await?;
                (StatusCode::OK, EMPTY)
            }
        };
        let mut head = HeaderMap::with_capacity(6);
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(send(status, head, json, aside))
    }
}

/// The post whose likes an address names.
fn liked(path: &str) -> Option<PostId> {
    path.strip_prefix("/posts/")?.strip_suffix("/likes")?.parse().ok()
}

/// What is small goes past the response; what is large is counted on its way out, as part of it.
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
    fn a_large_answer_does_not_go_past_those_who_count_it() {
        for (size, is_counted) in [(answers::SMALL, false), (answers::SMALL + 1, true)] {
            let mut aside = Aside::default();
            let response = send(StatusCode::OK, HeaderMap::new(), vec![7; size].into(), &mut aside);
            let counted = response.body().size_hint().exact();
            assert_eq!(counted, Some(if is_counted { size as u64 } else { 0 }), "{size}");
            assert_eq!(aside.whole.map(|whole| whole.len()), (!is_counted).then_some(size), "{size}");
        }
    }
}
