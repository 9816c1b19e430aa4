//! The paging parameters of every list of posts.

use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use http::request::Parts;
use utoipa::openapi::path::ParameterIn;

use crate::http::openapi::{Argument, Entry, integer, parameter, string};
use crate::http::state::Http;

/// The head of a request for a page of posts. Its query is parsed when the list is known to exist: a missing
/// one is reported first.
pub(crate) struct PageHead(pub(crate) Parts);

impl FromRequest<Http> for PageHead {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &Http) -> Result<Self, Infallible> {
        Ok(Self(request.into_parts().0))
    }
}

impl Argument for PageHead {
    fn describe(entry: &mut Entry) {
        let limit = integer().minimum(Some(1)).examples([20]);
        let offset = integer().minimum(Some(0)).examples([0]);
        let after =
            "A position in the list, taken from `paging.next`; `offset` then only counts on in the next link";
        for (name, about, schema) in [
            ("limit", "Posts on a page: 20 by default; more than 100 counts as 100", limit),
            ("offset", "How many of the newest posts to skip", offset),
            ("after", after, string()),
        ] {
            entry.parameter(parameter(name, ParameterIn::Query, about, schema));
        }
        entry.error(400, "`limit`, `offset` or `after` is invalid");
    }
}
