//! The extractor of the client's IP address, as trusted proxies forward it.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::http::openapi::Argument;
use crate::http::state::Http;

pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl FromRequestParts<Http> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, http: &Http) -> Result<Self, Infallible> {
        Ok(Self(http.arrival.client))
    }
}

impl Argument for ClientAddress {}
