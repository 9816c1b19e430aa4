//! The posts with a tag.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::PostFilter;

use crate::http::error::ApiError;
use crate::http::extract::paging::PageHead;
use crate::http::extract::path::TagPath;
use crate::http::extract::session::OptionalSession;
use crate::http::handlers::feed;
use crate::http::json::json_bytes;
use crate::http::state::Http;
use crate::links;

pub(crate) async fn posts(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    TagPath(tag): TagPath,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    let query = feed::FeedQuery::parse(parts.uri.query().unwrap_or_default())?;
    let path = links::tag(&tag) + "/posts";
    let (caller, filter) = (caller.as_ref(), PostFilter::Tagged(tag));
    Ok(json_bytes(StatusCode::OK, feed::page(&http, &parts, caller, filter, &path, query).await?))
}
