//! Posts: made, read, edited, deleted.

use app::{Draft, Posted};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use model::{Message, PostEdit, PostId};
use utoipa::ToSchema;

use super::Http;
use super::auth::{Reader, SignedIn};
use super::error::Problem;
use super::path::PathId;
use super::upload::{self, parse_alt, read_upload, tell_removed};
use super::wire::{Empty, Post, json, json_bytes};
use super::written;

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form; it is read by upload.rs")]
pub(crate) struct NewPost {
    /// The image file: JPEG, PNG, WebP, GIF, AVIF or HEIC, told by its bytes.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    photo: Vec<u8>,
    /// Up to 5,000 characters, kept as sent. Empty is the same as none.
    #[schema(example = "First light", max_length = 5000, nullable = false)]
    message: Option<String>,
    /// What the photo shows, for those who do not see it: up to 1,000 characters, kept as sent. Empty is the same as none.
    #[schema(example = "The sun rises over a harbour", max_length = 1000, nullable = false)]
    alt: Option<String>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form; it is read by form.rs")]
pub(crate) struct Edit {
    /// The new message. Empty removes it; without the parameter it stays.
    #[schema(example = "First light, at last", max_length = 5000, nullable = false)]
    message: Option<String>,
    /// What the photo shows, in new words. Empty removes them; without the parameter they stay.
    #[schema(example = "The sun rises over a harbour", max_length = 1000, nullable = false)]
    alt: Option<String>,
}

/// Post a photo
///
/// Metadata (EXIF, GPS, comments) is removed, orientation and colours are kept. A small photo may also come
/// as `application/x-www-form-urlencoded`, in a body of up to 256 KiB.
#[utoipa::path(
    post, path = "/posts", tag = "posts", operation_id = "create_post",
    params((
        "Idempotency-Key" = Option<String>, Header,
        description = "A name for this upload, 1 to 255 visible ASCII characters. The same key within 24 hours \
            answers with the post made the first time.",
        nullable = false, min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$",
    )),
    request_body(content = NewPost, content_type = "multipart/form-data"),
    responses((status = 201, description = "The new post", body = Post, headers(
        ("Idempotency-Replayed" = String, description = "`true` when an earlier upload with the same key made it"),
        ("X-Removed-Metadata" = String, description = "The kinds of metadata that were taken out of the photo, as in \
            `gps, exif`; absent when there was none"),
    ))),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn create(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let key = upload::idempotency_key(&parts.headers)?;
    if let Some(key) = &key
        && let Some(post) = http.app.repeated(&caller, key).await?
    {
        return created(Posted::Before(post));
    }
    let _room = http.app.begin_upload(&caller)?;
    let (upload, mut form) = read_upload(&http, &parts.headers, body, &["message", "alt"]).await?;
    let message = form.text("message")?.map(parse_message).transpose()?.flatten();
    created(http.app.create_post(&caller, Draft { upload, message, key }).await?)
}

fn created(posted: Posted) -> Result<Response, Problem> {
    match posted {
        Posted::Before(post) => {
            let mut response = json_bytes(StatusCode::CREATED, written::post(&post).into());
            response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
            Ok(response)
        }
        Posted::New { post, removed } => {
            let mut response = json_bytes(StatusCode::CREATED, written::post(&post).into());
            tell_removed(&mut response, removed)?;
            Ok(response)
        }
    }
}

/// Read a post
#[utoipa::path(
    get, path = "/posts/{post_id}", tag = "posts", operation_id = "get_post",
    params(("post_id" = i64, Path, description = "The post's id", example = 42)),
    responses((status = 200, description = "The post", body = Post)),
    security((), ("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn get(
    State(http): State<Http>,
    Reader(caller): Reader,
    PathId(id): PathId<PostId>,
) -> Result<Response, Problem> {
    Ok(json_bytes(StatusCode::OK, read(&http, caller.as_ref(), id).await?))
}

/// A post as somebody sees it, as JSON.
pub(crate) async fn read(http: &Http, caller: Option<&app::Caller>, id: PostId) -> Result<Bytes, Problem> {
    let (json, is_liked) = http.app.written_post(caller, id, written::post).await?;
    Ok(if is_liked { written::liked(&json, written::unliked(&json)) } else { json })
}

/// Edit a post's words
///
/// Its message, and what its photo shows. PUT and PATCH do the same: what is not sent stays as it is.
#[utoipa::path(
    method(put, patch), path = "/posts/{post_id}", tag = "posts", operation_id = "edit_post",
    params(("post_id" = i64, Path, description = "The post's id", example = 42)),
    request_body(content(
        (Edit = "application/x-www-form-urlencoded"),
        (Edit = "multipart/form-data"),
    )),
    responses((status = 200, description = "The post as it is now", body = Post)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn edit(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
    PathId(id): PathId<PostId>,
    request: Request,
) -> Result<Response, Problem> {
    // Whether the post is there and theirs comes before whether the form is any good.
    http.app.check_editable(&caller, id).await?;
    let (parts, body) = request.into_parts();
    let mut form = http.form(&parts.headers, body, &["message", "alt"]).await?;
    let edit = PostEdit {
        message: form.text("message")?.map(parse_message).transpose()?,
        alt: form.text("alt")?.map(parse_alt).transpose()?,
    };
    let post = if edit.is_empty() {
        http.app.post(Some(&caller), id).await?
    } else {
        http.app.edit_post(&caller, id, edit).await?
    };
    Ok(json_bytes(StatusCode::OK, written::post(&post).into()))
}

/// Delete a post
///
/// With its likes, its photo and every image made of it: they are gone when the answer is sent.
#[utoipa::path(
    delete, path = "/posts/{post_id}", tag = "posts", operation_id = "delete_post",
    params(("post_id" = i64, Path, description = "The post's id", example = 42)),
    responses((status = 200, description = "The post is gone", body = Empty)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn delete(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
    PathId(id): PathId<PostId>,
) -> Result<Response, Problem> {
    http.app.delete_post(&caller, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

fn parse_message(text: String) -> Result<Option<Message>, Problem> {
    Message::parse(text).map_err(|rule| Problem::invalid("message", rule.0))
}
