//! The pagination parameters of lists: `limit`, `offset` and `after`.

use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use http::request::Parts;
use utoipa::openapi::path::ParameterIn;

use crate::http::openapi::{Argument, Entry, integer, parameter, string};
use crate::http::state::Http;

/// The head of a request for a page. The handler parses its query after it has looked up the list,
/// so that a 404 takes precedence over a 400.
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
        let after = string().pattern(Some("^[A-Za-z0-9_-]{12}$")).examples(["AQAAAAAAAAAW"]);
        let about_after =
            "A cursor from `paging.next`. With it, `offset` only affects the `offset` of the next link";
        for (name, about, schema) in [
            ("limit", "Items per page, 20 by default; values above 100 mean 100", limit),
            ("offset", "The number of items to skip", offset),
            ("after", about_after, after),
        ] {
            entry.parameter(parameter(name, ParameterIn::Query, about, schema));
        }
        entry.error(400, "`limit`, `offset` or `after` is invalid");
    }
}
