//! The interface between the listener and the request handlers.

use std::net::SocketAddr;
use std::sync::Arc;

use app::Holder;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use tower::Service;

/// The connection of a request.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// Whether the connection is beyond the limits: only health probes are served on it, once.
    pub(crate) is_reserve: bool,
    /// The connection is closed when one of its permits is revoked.
    pub(crate) holder: Arc<Holder>,
}

/// Handles the requests of every connection.
pub(crate) trait RequestHandler: Clone + Send + Sync + 'static {
    fn handle(
        self,
        head: Parts,
        body: Body,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Response> + Send;
}

/// The router of the metrics.
impl RequestHandler for Router {
    async fn handle(mut self, head: Parts, body: Body, _: Arc<Connection>) -> Response {
        let Ok(response) = self.call(Request::from_parts(head, body)).await;
        response
    }
}
