//! Liking and unliking.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::PostId;

use super::Http;
use super::auth::SignedIn;
use super::error::Problem;
use super::path::PathId;
use super::wire::{Empty, json};

/// Like a post
#[utoipa::path(
    post, path = "/posts/{post_id}/likes", tag = "likes", operation_id = "like",
    params(("post_id" = i64, Path, description = "The post's id", example = 42)),
    responses((status = 201, description = "Liked", body = Empty)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn like(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
    PathId(id): PathId<PostId>,
) -> Result<Response, Problem> {
    http.app.like(&caller, id).await?;
    Ok(json(StatusCode::CREATED, &Empty {}))
}

/// Take a like back
#[utoipa::path(
    delete, path = "/posts/{post_id}/likes", tag = "likes", operation_id = "unlike",
    params(("post_id" = i64, Path, description = "The post's id", example = 42)),
    responses((status = 200, description = "No longer liked", body = Empty)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn unlike(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
    PathId(id): PathId<PostId>,
) -> Result<Response, Problem> {
    http.app.unlike(&caller, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
