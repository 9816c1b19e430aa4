//! Members as others see them, and what they posted.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{Username, Whose};
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
    PathId(username): PathId<Username>,
) -> Result<Response, ApiError> {
    Ok(json(StatusCode::OK, &User::from(&http.app.user(&username).await?)))
}

pub(crate) async fn posts(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PathId(username): PathId<Username>,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    // Whether there is such a user comes before whether the page asked for makes sense.
    let user = http.app.user(&username).await?;
    let query = feed::FeedQuery::parse(parts.uri.query().unwrap_or_default())?;
    let path = format!("/users/{}/posts", in_path(&user.username));
    let (head, caller) = ((&parts).into(), caller.as_ref());
    Ok(json_bytes(StatusCode::OK, feed::page(&http, head, caller, Whose::Only(user.id), &path, query).await?))
}

/// As the name is written in an address. Some programs read a bare `+` as a blank, so it is not left bare.
fn in_path(username: &Username) -> String {
    const WRITTEN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'@');
    utf8_percent_encode(username.as_str(), WRITTEN).to_string()
}
