//! Blocked users, and posts that the current user does not want to see.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{PostId, Username};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dto::{Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::path::PathId;
use crate::http::extract::session::RequiredSession;
use crate::http::json::json;
use crate::http::state::Http;

/// The users that the current user has blocked.
#[derive(Serialize, ToSchema)]
pub(crate) struct BlockList<'a> {
    /// The newest members first.
    data: Vec<User<'a>>,
}

/// The posts that the current user has hidden.
#[derive(Serialize, ToSchema)]
pub(crate) struct HiddenPostList {
    /// The ids of the posts, newest first.
    data: Vec<i64>,
}

pub(crate) async fn list(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    let blocked = http.app.blocked_users(&caller).await?;
    Ok(json(StatusCode::OK, &BlockList { data: blocked.iter().map(User::from).collect() }))
}

pub(crate) async fn block(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(username): PathId<Username>,
) -> Result<Response, ApiError> {
    http.app.block(&caller, &username).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn unblock(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(username): PathId<Username>,
) -> Result<Response, ApiError> {
    http.app.unblock(&caller, &username).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn hidden_posts(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    let hidden = http.app.hidden_posts(&caller).await?;
    Ok(json(StatusCode::OK, &HiddenPostList { data: hidden.iter().map(|post| post.0).collect() }))
}

pub(crate) async fn hide_post(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    http.app.hide_post(&caller, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn unhide_post(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    http.app.unhide_post(&caller, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
