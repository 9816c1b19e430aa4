//! The response budget: large bodies share a fixed amount of memory, so that clients that do not read cannot
//! fill it.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::ApiError;

/// Bodies up to this size are not counted: the number of connections bounds them.
pub(crate) const SMALL: usize = 64 * 1024;

/// The sum of all larger ones.
const LIMIT: usize = 256 << 20;

pub(crate) struct ResponseBudget {
    kibibytes: Arc<Semaphore>,
}

impl ResponseBudget {
    pub(crate) fn new() -> Self {
        Self { kibibytes: Arc::new(Semaphore::new(LIMIT >> 10)) }
    }

    /// Ties a large body to its share of the budget until it is sent, or rejects the request.
    pub(crate) async fn reserve(&self, response: Response) -> Response {
        let size = response.body().size_hint().exact().unwrap_or(0);
        if size <= SMALL as u64 { response } else { Box::pin(self.reserve_large(response, size)).await }
    }

    async fn reserve_large(&self, response: Response, size: u64) -> Response {
        let share = u32::try_from(size.div_ceil(1024)).unwrap_or(u32::MAX);
        let Ok(share) = self.kibibytes.clone().try_acquire_many_owned(share) else {
            tracing::warn!(size, "response budget exhausted; request rejected");
            return ApiError::busy().into_response();
        };
        let (head, body) = response.into_parts();
        match body.collect().await {
            Ok(whole) => {
                let budgeted = BudgetedBytes { bytes: whole.to_bytes(), _share: share };
                Response::from_parts(head, Body::from(Bytes::from_owner(budgeted)))
            }
            Err(error) => {
                tracing::error!(%error, "a response body failed");
                ApiError::internal().into_response()
            }
        }
    }
}

/// Bytes that release their share when the last of them is sent.
struct BudgetedBytes {
    bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_counted_until_it_is_sent() {
        let budget = ResponseBudget::new();
        let large = || Response::new(Body::from(vec![7; LIMIT / 2]));
        let (first, second) = (budget.reserve(large()).await, budget.reserve(large()).await);
        assert_eq!(first.status(), 200);
        assert_eq!(budget.reserve(large()).await.status(), 503, "a third exceeds the budget");
        assert_eq!(budget.reserve(Response::new(Body::from("small"))).await.status(), 200);

        // Taken out of its response it still counts, until it is dropped.
        let sent = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((sent.len(), sent[0]), (LIMIT / 2, 7));
        assert_eq!(budget.reserve(large()).await.status(), 503);
        drop(sent);
        assert_eq!(budget.reserve(large()).await.status(), 200);
        drop(second);
    }
}
