//! Large answers are counted while they are under way: clients that do not read must not fill our memory.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Problem;

/// Answers up to this size are not counted: the number of connections bounds them.
pub(super) const SMALL: usize = 64 * 1024;

/// What all larger ones may take together.
const ROOM: usize = 256 << 20;

pub(crate) struct Answers {
    kibibytes: Arc<Semaphore>,
}

impl Answers {
    pub(crate) fn new() -> Self {
        Self { kibibytes: Arc::new(Semaphore::new(ROOM >> 10)) }
    }

    /// Ties a large body to its share of the room until it has been sent, or sends the client away.
    pub(crate) async fn hold(&self, response: Response) -> Response {
        let size = response.body().size_hint().exact().unwrap_or(0);
        if size <= SMALL as u64 { response } else { Box::pin(self.hold_large(response, size)).await }
    }

    async fn hold_large(&self, response: Response, size: u64) -> Response {
        let share = u32::try_from(size.div_ceil(1024)).unwrap_or(u32::MAX);
        let Ok(share) = self.kibibytes.clone().try_acquire_many_owned(share) else {
            tracing::warn!(size, "too many large answers are under way; a request was sent away");
            return Problem::busy().into_response();
        };
        let (head, body) = response.into_parts();
        match body.collect().await {
            Ok(whole) => {
                let held = Held { bytes: whole.to_bytes(), _share: share };
                Response::from_parts(head, Body::from(Bytes::from_owner(held)))
            }
            Err(error) => {
                tracing::error!(%error, "an answer broke off");
                Problem::internal().into_response()
            }
        }
    }
}

/// Bytes that give their share back when the last of them has been sent.
struct Held {
    bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_under_way_is_counted_until_it_is_sent() {
        let answers = Answers::new();
        let large = || Response::new(Body::from(vec![7; ROOM / 2]));
        let (first, second) = (answers.hold(large()).await, answers.hold(large()).await);
        assert_eq!(first.status(), 200);
        assert_eq!(answers.hold(large()).await.status(), 503, "no room for a third");
        assert_eq!(answers.hold(Response::new(Body::from("small"))).await.status(), 200);

        // Taken out of its response it still counts; only its end frees the room.
        let sent = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((sent.len(), sent[0]), (ROOM / 2, 7));
        assert_eq!(answers.hold(large()).await.status(), 503);
        drop(sent);
        assert_eq!(answers.hold(large()).await.status(), 200);
        drop(second);
    }
}
