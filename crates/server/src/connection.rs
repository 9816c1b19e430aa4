//! What the listener and the handlers of requests know of each other.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use tower::Service;

use crate::response_body::BodyOverride;

/// The addresses of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionAddrs {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
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

/// What counts as one client: an IPv6 household usually owns a /64.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_counts_once() {
        let same: [IpAddr; 2] = ["2001:db8::1".parse().unwrap(), "2001:db8::ffff:2".parse().unwrap()];
        assert_eq!(network(same[0]), network(same[1]));
        assert_ne!(network(same[0]), network("2001:db8:0:1::1".parse().unwrap()));
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), "10.0.0.1".parse::<IpAddr>().unwrap());
    }
}
