//! Likes on posts.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use model::PostId;

use crate::http::error::ApiError;
use crate::http::extract::path::PathId;
use crate::http::extract::session::RequiredSession;
use crate::http::json::{EMPTY, json_bytes};
use crate::http::state::Http;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LikeAction {
    Like,
    Unlike,
}

pub(crate) async fn like(
    State(http): State<Http>,
    caller: RequiredSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    let (status, json) = apply(&http, &caller, id, LikeAction::Like).await?;
    Ok(json_bytes(status, json))
}

pub(crate) async fn unlike(
    State(http): State<Http>,
    caller: RequiredSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    let (status, json) = apply(&http, &caller, id, LikeAction::Unlike).await?;
    Ok(json_bytes(status, json))
}

pub(crate) async fn apply(
    http: &Http,
    RequiredSession(caller): &RequiredSession,
    id: PostId,
    action: LikeAction,
) -> Result<(StatusCode, Bytes), ApiError> {
    match action {
        LikeAction::Like => {
            http.app.like(caller, id).await?;
            Ok((StatusCode::CREATED, EMPTY))
        }
        LikeAction::Unlike => {
            http.app.unlike(caller, id).await?;
            Ok((StatusCode::OK, EMPTY))
        }
    }
}
