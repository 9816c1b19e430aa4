//! Likes on posts.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{PostFilter, PostId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dto::{Paging, User};
use crate::http::error::ApiError;
use crate::http::extract::paging::PageHead;
use crate::http::extract::path::PathId;
use crate::http::extract::session::{OptionalSession, RequiredSession};
use crate::http::handlers::feed::{self, FeedQuery};
use crate::http::json::{EMPTY, json, json_bytes};
use crate::http::state::Http;

/// A page of users.
#[derive(Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct UserPageDto<'a> {
    /// The users.
    data: Vec<User<'a>>,
    /// The link to the next page.
    paging: Paging,
}

/// The users who like a post.
pub(crate) async fn likers(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PathId(id): PathId<PostId>,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    let parsed = FeedQuery::parse(parts.uri.query().unwrap_or_default());
    let Ok(query) = &parsed else {
        // A 404 takes precedence over invalid pagination parameters.
        http.app.post(caller.as_ref(), id).await?;
        return Err(parsed.err().unwrap_or_else(ApiError::internal));
    };
    let client = http.client(caller.as_ref());
    let page = http.app.likers(client, caller.as_ref(), id, query.start(), query.limit()).await?;
    let (base_url, path) = (http.base_url(&parts), format!("/posts/{id}/likes"));
    let next = page.next.map(|cursor| query.next_url(cursor, page.users.len(), &base_url, &path));
    let data = page.users.iter().map(User::from).collect();
    Ok(json(StatusCode::OK, &UserPageDto { data, paging: Paging { next } }))
}

/// The posts that the caller likes.
pub(crate) async fn liked(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    let query = FeedQuery::parse(parts.uri.query().unwrap_or_default())?;
    let filter = PostFilter::LikedBy(caller.user.id);
    Ok(json_bytes(
        StatusCode::OK,
        feed::page(&http, &parts, Some(&caller), filter, "/me/likes", query).await?,
    ))
}

pub(crate) async fn like(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    http.app.like(&caller, id).await?;
    Ok(json_bytes(StatusCode::CREATED, EMPTY))
}

pub(crate) async fn unlike(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    http.app.unlike(&caller, id).await?;
    Ok(json_bytes(StatusCode::OK, EMPTY))
}
