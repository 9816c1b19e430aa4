//! Ids in addresses. What is no id names nothing: 404.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use super::Http;
use super::error::Problem;

pub(crate) struct PathId<T>(pub(crate) T);

impl<T: FromStr + Send> FromRequestParts<Http> for PathId<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        let missing = || Problem::not_found("there is no such post");
        let Path(raw) = Path::<String>::from_request_parts(parts, http).await.map_err(|_| missing())?;
        raw.parse().map(Self).map_err(|_| missing())
    }
}
