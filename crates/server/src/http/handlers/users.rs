//! Users and their posts.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{PostFilter, Username};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::dto::User;
use crate::http::error::ApiError;
use crate::http::extract::paging::PageHead;
use crate::http::extract::path::PathId;
use crate::http::extract::session::OptionalSession;
use crate::http::handlers::feed;
use crate::http::json::{json, json_bytes};
use crate::http::state::Http;

pub(crate) async fn get(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PathId(username): PathId<Username>,
) -> Result<Response, ApiError> {
    Ok(json(StatusCode::OK, &User::from(&http.app.user(caller.as_ref(), &username).await?)))
}

pub(crate) async fn posts(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PathId(username): PathId<Username>,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    // A 404 takes precedence over invalid pagination parameters.
    let user = http.app.user(caller.as_ref(), &username).await?;
    let query = feed::FeedQuery::parse(parts.uri.query().unwrap_or_default())?;
    let path = format!("/users/{}/posts", encode_segment(&user.username));
    let (caller, filter) = (caller.as_ref(), PostFilter::By(user.id));
    Ok(json_bytes(StatusCode::OK, feed::page(&http, &parts, caller, filter, &path, query).await?))
}

/// The username as a path segment. `+` is percent-encoded, since some clients decode it as a space.
fn encode_segment(username: &Username) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'@');
    utf8_percent_encode(username.as_str(), ENCODED).to_string()
}
