//! Ids and names in addresses. What is neither names nothing: 404.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use model::{PostId, Username};

use super::Http;
use super::error::Problem;

pub(crate) struct PathId<T>(pub(crate) T);

/// What an address can name, and what is said when it names nothing.
pub(crate) trait Named: FromStr + Send {
    const MISSING: &'static str;
}

impl Named for PostId {
    const MISSING: &'static str = "there is no such post";
}

impl Named for Username {
    const MISSING: &'static str = "there is no such user";
}

impl<T: Named> FromRequestParts<Http> for PathId<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        let missing = || Problem::not_found(T::MISSING);
        let Path(raw) = Path::<String>::from_request_parts(parts, http).await.map_err(|_| missing())?;
        raw.parse().map(Self).map_err(|_| missing())
    }
}
