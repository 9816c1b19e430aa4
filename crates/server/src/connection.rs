//! The interface between the listener and the request handlers.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use tower::Service;

use crate::response_body::BodyOverride;

/// The peer and local addresses of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionAddrs {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// Whether the connection is beyond the limits: only health probes are served on it, once.
    pub(crate) is_reserve: bool,
}

/// Handles the requests of every connection.
pub(crate) trait RequestHandler: Clone + Send + Sync + 'static {
    fn handle(
        self,
        head: Parts,
        body: Body,
        addrs: ConnectionAddrs,
    ) -> impl Future<Output = HandledResponse> + Send;
}

pub(crate) struct HandledResponse {
    pub(crate) response: Response,
    pub(crate) body: BodyOverride,
}

impl RequestHandler for Router {
    async fn handle(mut self, mut head: Parts, body: Body, addrs: ConnectionAddrs) -> HandledResponse {
        head.extensions.insert(addrs);
        let Ok(response) = self.call(Request::from_parts(head, body)).await;
        HandledResponse { response, body: BodyOverride::default() }
    }
}
