//! The memory of requests: budgets for the forms that arrive and the large responses that are sent.
//!
//! A client that does not send the rest of its form, or does not read its response, holds memory for as long
//! as it likes. If there is none left, the connection of the largest holder is closed in favour of a client
//! with less.

use std::sync::Arc;

use app::{Client, FairPermit, FairSemaphore, Holder, PermitLimits, Revocation};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;

use crate::connection::Connection;
use crate::http::error::ApiError;
use crate::http::form::memory::{FormMemory, UNIT};

/// Bodies up to this size, in bytes, are not counted: the connection limit bounds their sum.
const SMALL_RESPONSE: usize = 64 * 1024;

/// The limit of all larger responses together, in bytes.
const RESPONSES: usize = 128 << 20;

/// The limit of all larger forms together, in bytes. The buffers of their connections come on top.
const FORMS: usize = 32 << 20;

/// What a body counts whose length is not known before it is read, such as that of a file: its chunks, and
/// what the client of an S3 store receives ahead of them.
const STREAMED_RESPONSE: usize = 1 << 20;

pub(crate) struct RequestMemory {
    forms: Arc<FairSemaphore>,
    responses: Arc<FairSemaphore>,
}

fn budget(bytes: usize) -> Arc<FairSemaphore> {
    let max = bytes / UNIT;
    FairSemaphore::new(PermitLimits {
        max,
        // A user of the network that holds all takes from the one who holds most.
        max_per_network: usize::MAX,
        max_per_user: usize::MAX,
        revocation: Revocation::LargerBusyShares,
    })
}

impl RequestMemory {
    pub(crate) fn new() -> Self {
        Self { forms: budget(FORMS), responses: budget(RESPONSES) }
    }

    /// The memory of a form that is about to be read.
    pub(crate) fn form(&self, connection: Option<&Connection>, client: Client) -> FormMemory {
        match connection {
            Some(connection) => FormMemory::of(self.forms.clone(), connection.holder.clone(), client),
            None => FormMemory::uncounted(),
        }
    }

    /// Reserves memory for a large or streamed body until it is sent, or replaces the response by a 503.
    pub(crate) async fn reserve(
        &self,
        connection: Option<&Connection>,
        client: Client,
        response: Response,
    ) -> Response {
        let length = response.body().size_hint().exact();
        match connection {
            Some(connection) if length.is_none_or(|length| length > SMALL_RESPONSE as u64) => {
                Box::pin(self.reserve_large(&connection.holder, client, response, length)).await
            }
            _ => response,
        }
    }

    async fn reserve_large(
        &self,
        holder: &Arc<Holder>,
        client: Client,
        response: Response,
        length: Option<u64>,
    ) -> Response {
        let size = length.map_or(STREAMED_RESPONSE, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let units = size.div_ceil(UNIT);
        let Some(permit) = self.responses.try_acquire_for(holder, client, units) else {
            tracing::warn!(size, "memory of requests exhausted; request rejected");
            return ApiError::busy().into_response();
        };
        if length.is_none() {
            return response.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _held = &permit;
                    frame
                }))
            });
        }
        let (head, body) = response.into_parts();
        match body.collect().await {
            Ok(collected) => {
                let reserved = ReservedBytes { bytes: collected.to_bytes(), _permit: permit };
                Response::from_parts(head, Body::from(Bytes::from_owner(reserved)))
            }
            Err(error) => {
                tracing::error!(%error, "response body failed");
                ApiError::internal().into_response()
            }
        }
    }
}

/// The bytes of a body, which release their memory when the last reference to them is dropped.
struct ReservedBytes {
    bytes: Bytes,
    _permit: FairPermit,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use model::UserId;

    use super::*;
    use crate::http::form::memory::SMALL_FORM;

    const SMALL: PermitLimits =
        PermitLimits { max: 9, max_per_network: 9, max_per_user: 9, revocation: Revocation::IdleFirst };

    fn connection(permit: &FairPermit) -> Connection {
        let address = "127.0.0.1:80".parse().unwrap();
        Connection { peer: address, local: address, is_reserve: false, holder: permit.holder().clone() }
    }

    fn client(host: u8) -> Client {
        Client::anonymous(IpAddr::from([10, 0, 0, host]))
    }

    fn large() -> Response {
        Response::new(Body::from(vec![7; RESPONSES / 2]))
    }

    async fn is_closed(permit: &FairPermit) -> bool {
        futures_util::poll!(std::pin::pin!(permit.holder().revoked())).is_ready()
    }

    #[tokio::test]
    async fn a_large_body_counts_until_it_is_sent() {
        let (memory, client) = (RequestMemory::new(), client(1));
        let permit = FairSemaphore::new(SMALL).try_acquire(client).unwrap();
        let connection = connection(&permit);
        let reserve = async |response| memory.reserve(Some(&connection), client, response).await;
        let (first, second) = (reserve(large()).await, reserve(large()).await);
        assert_eq!(first.status(), 200);
        assert_eq!(reserve(large()).await.status(), 503, "a third exceeds the budget");
        assert_eq!(reserve(Response::new(Body::from("small"))).await.status(), 200);

        // The bytes count until they are dropped, also after they were taken out of the response.
        let sent = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((sent.len(), sent[0]), (RESPONSES / 2, 7));
        assert_eq!(reserve(large()).await.status(), 503);
        drop(sent);
        assert_eq!(reserve(large()).await.status(), 200);
        drop(second);
    }

    #[tokio::test]
    async fn a_streamed_body_counts_what_it_holds_at_a_time() {
        let (memory, client) = (RequestMemory::new(), client(1));
        let permit = FairSemaphore::new(SMALL).try_acquire(client).unwrap();
        let connection = connection(&permit);
        let stream = || {
            let chunks = futures_util::stream::iter([Ok::<_, std::io::Error>("a "), Ok("chunk")]);
            Response::new(Body::from_stream(chunks))
        };
        let mut held = Vec::new();
        for _ in 0..RESPONSES / STREAMED_RESPONSE {
            held.push(memory.reserve(Some(&connection), client, stream()).await);
        }
        assert!(held.iter().all(|response| response.status() == 200));
        assert_eq!(memory.reserve(Some(&connection), client, stream()).await.status(), 503);
        let sent = held.pop().unwrap().into_body().collect().await.unwrap().to_bytes();
        assert_eq!(sent, "a chunk");
        assert_eq!(memory.reserve(Some(&connection), client, stream()).await.status(), 200);
    }

    #[tokio::test]
    async fn the_largest_holder_loses_its_connection_to_another_network() {
        let (memory, connections) = (RequestMemory::new(), FairSemaphore::new(SMALL));
        let [eve, ada] = [1, 2].map(client);
        let [slow, trickling, other] = [eve, eve, ada].map(|client| connections.try_acquire(client).unwrap());
        let reserve = async |permit, client, response| {
            memory.reserve(Some(&connection(permit)), client, response).await
        };
        let held = [reserve(&slow, eve, large()).await, reserve(&slow, eve, large()).await];
        let response = Response::new(Body::from(vec![7; SMALL_RESPONSE + 1]));
        assert_eq!(reserve(&other, ada, response).await.status(), 200);
        assert!(is_closed(&slow).await && !is_closed(&trickling).await);

        let mut form = memory.form(Some(&connection(&trickling)), eve);
        assert!(form.add(SMALL_FORM) && !form.is_counted(), "small forms are not counted");
        assert!(form.add(FORMS) && !form.add(1), "all of the budget is held");
        assert!(memory.form(Some(&connection(&other)), ada).add(2 * SMALL_FORM));
        assert!(is_closed(&trickling).await && !is_closed(&other).await);
        drop((held, form));
    }

    #[tokio::test]
    async fn a_user_loses_a_connection_to_another_user_of_the_same_network() {
        let (memory, connections) = (RequestMemory::new(), FairSemaphore::new(SMALL));
        let [eve, ada] = [1, 2].map(|user| client(1).with_user(UserId(user)));
        let [slow, other] = [eve, ada].map(|client| connections.try_acquire(client).unwrap());
        let connection_of = [&slow, &other].map(connection);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(memory.reserve(Some(&connection_of[0]), eve, large()).await);
        }
        let response = Response::new(Body::from(vec![7; SMALL_RESPONSE + 1]));
        assert_eq!(memory.reserve(Some(&connection_of[1]), ada, response).await.status(), 200);
        assert!(is_closed(&slow).await && !is_closed(&other).await);
        drop(held);
    }
}
