//! The shapes that go over the wire.

use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::error::Problem;

/// A member of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct User {
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// Unique among users, whatever its case.
    #[schema(example = "ada", min_length = 1, max_length = 64)]
    username: String,
    /// Profile photo; null when the user has none.
    photo: Option<Photo>,
    #[schema(example = "2026-11-14T09:30:00+0000", pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    created_at: String,
}

/// A photo, served at `/photos/{id}/{width}x{height}`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Photo {
    #[schema(example = "0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48", format = "uuid")]
    id: String,
    /// Width of the upright original, in pixels.
    #[schema(example = 4032, minimum = 1)]
    width: u32,
    /// Height of the upright original, in pixels.
    #[schema(example = 3024, minimum = 1)]
    height: u32,
    /// A thumbhash, in base64: what to draw until the picture arrives.
    #[schema(example = "1QcSHQRnh493V4dIh4eXh1h4kJUI")]
    placeholder: String,
    /// What the photo shows, for those who do not see it; absent when nobody wrote it down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "The sun rises over a harbour", max_length = 1000, nullable = false)]
    alt: Option<String>,
}

/// A photo with an optional message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Post {
    #[schema(example = 42, minimum = 1)]
    id: i64,
    photo: Photo,
    /// Absent when the post has no message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "First light", max_length = 5000, nullable = false)]
    message: Option<String>,
    user: User,
    #[schema(example = "2026-11-14T09:30:00+0000", pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    created_at: String,
    /// Whether the caller has liked the post; false for an anonymous caller.
    is_liked: bool,
    #[schema(example = 3, minimum = 0)]
    like_count: i64,
}

/// A page of posts, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeedPage {
    pub(crate) data: Vec<Post>,
    pub(crate) paging: Paging,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Paging {
    /// Absolute URL of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "http://127.0.0.1:8080/feed?limit=20&offset=20&after=AQAAAAAAAAAW", nullable = false)]
    pub(crate) next: Option<String>,
}

/// An object without members.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Empty {}

/// What went wrong, and which parameter is to blame.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Error {
    pub(crate) error: ErrorDetail,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// A sentence for people.
    #[schema(nullable = false)]
    pub(crate) message: Option<String>,
    /// The name of the offending parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) field: Option<String>,
}

impl From<model::User> for User {
    fn from(user: model::User) -> Self {
        Self {
            id: user.id.0,
            username: user.username.to_string(),
            photo: user.photo.map(Photo::from),
            created_at: user.created_at.to_string(),
        }
    }
}

impl From<model::Photo> for Photo {
    fn from(photo: model::Photo) -> Self {
        Self {
            id: photo.id.to_string(),
            width: photo.width,
            height: photo.height,
            placeholder: STANDARD.encode(photo.placeholder),
            alt: photo.alt.map(|alt| alt.to_string()),
        }
    }
}

impl From<model::Post> for Post {
    fn from(post: model::Post) -> Self {
        Self {
            id: post.id.0,
            photo: post.photo.into(),
            message: post.message.map(|message| message.to_string()),
            user: post.user.into(),
            created_at: post.created_at.to_string(),
            is_liked: post.is_liked,
            like_count: post.like_count,
        }
    }
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    written(body).map_or_else(IntoResponse::into_response, |json| json_bytes(status, json))
}

/// An answer's JSON.
pub(crate) fn written(body: &impl Serialize) -> Result<Bytes, Problem> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Problem::internal()
    })
}

/// JSON that is written already. Its length goes into the head so that HEAD can repeat it.
pub(crate) fn json_bytes(status: StatusCode, json: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CONTENT_LENGTH, HeaderValue::from(json.len())),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, json).into_response()
}
