//! The extractor of the service's own base URL, for links in responses.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::http::openapi::Argument;
use crate::http::state::Http;

pub(crate) struct BaseUrl(pub(crate) String);

impl FromRequestParts<Http> for BaseUrl {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Infallible> {
        Ok(Self(http.base_url(parts)))
    }
}

impl Argument for BaseUrl {}
