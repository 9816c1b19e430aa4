//! The response budget: a limit on the memory of all large response bodies, so that clients that do not read
//! their responses cannot exhaust it.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::ApiError;

/// Bodies up to this size, in bytes, are not counted: the connection limit bounds their sum.
pub(crate) const SMALL_RESPONSE: usize = 64 * 1024;

/// The limit of all larger bodies together, in bytes.
const BUDGET: usize = 256 << 20;

pub(crate) struct ResponseBudget {
    kibibytes: Arc<Semaphore>,
}

impl ResponseBudget {
    pub(crate) fn new() -> Self {
        Self { kibibytes: Arc::new(Semaphore::new(BUDGET >> 10)) }
    }

    /// Reserves budget for a large body until it is sent, or replaces the response by a 503.
    pub(crate) async fn reserve(&self, response: Response) -> Response {
        let size = response.body().size_hint().exact().unwrap_or(0);
        if size <= SMALL_RESPONSE as u64 {
            return response;
        }
        Box::pin(self.reserve_large(response, size)).await
    }

    async fn reserve_large(&self, response: Response, size: u64) -> Response {
        let kibibytes = u32::try_from(size.div_ceil(1024)).unwrap_or(u32::MAX);
        let Ok(permit) = self.kibibytes.clone().try_acquire_many_owned(kibibytes) else {
            tracing::warn!(size, "response budget exhausted; request rejected");
            return ApiError::busy().into_response();
        };
        let (head, body) = response.into_parts();
        match body.collect().await {
            Ok(collected) => {
                let budgeted = BudgetedBytes { bytes: collected.to_bytes(), _permit: permit };
                Response::from_parts(head, Body::from(Bytes::from_owner(budgeted)))
            }
            Err(error) => {
                tracing::error!(%error, "response body failed");
                ApiError::internal().into_response()
            }
        }
    }
}

/// The bytes of a body, which release their budget when the last reference to them is dropped.
struct BudgetedBytes {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
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
    async fn a_large_body_counts_until_it_is_sent() {
        let budget = ResponseBudget::new();
        let large = || Response::new(Body::from(vec![7; BUDGET / 2]));
        let (first, second) = (budget.reserve(large()).await, budget.reserve(large()).await);
        assert_eq!(first.status(), 200);
        assert_eq!(budget.reserve(large()).await.status(), 503, "a third exceeds the budget");
        assert_eq!(budget.reserve(Response::new(Body::from("small"))).await.status(), 200);

        // The bytes count until they are dropped, also after they were taken out of the response.
        let sent = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((sent.len(), sent[0]), (BUDGET / 2, 7));
        assert_eq!(budget.reserve(large()).await.status(), 503);
        drop(sent);
        assert_eq!(budget.reserve(large()).await.status(), 200);
        drop(second);
    }
}
