//! Posts: create, read, edit, delete.

use std::sync::Arc;

use app::{Actor, Client, Draft, Posted};
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use model::{Focus, Message, Post, PostContent, PostEdit, PostId, Role, ValidationError};
use utoipa::ToSchema;

use crate::http::dto::Empty;
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::path::PathId;
use crate::http::extract::session::{OptionalSession, RequiredSession};
use crate::http::handlers::upload::{IdempotencyKey, parse_alt, read_upload, set_removed_metadata_header};
use crate::http::json::{json, json_bytes};
use crate::http::post_json::PostJson;
use crate::http::response_cache::CACHE_ATTEMPTS;
use crate::http::state::Http;

/// A photo with an optional message.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct NewPost {
    /// An image file; its format is detected by its content.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    photo: Vec<u8>,
    /// A message of up to 5,000 characters. An empty one counts as none.
    #[schema(example = "First light", max_length = 5000, nullable = false)]
    message: Option<String>,
    /// Alternative text that describes the photo, up to 1,000 characters. An empty one counts as none.
    #[schema(example = "The sun rises over a harbour", max_length = 1000, nullable = false)]
    alt: Option<String>,
    /// The point that squares are cut around: two numbers from 0 to 1, from the left and from the top.
    #[schema(example = "0.5,0.25", default = "0.5,0.5", nullable = false)]
    focus: Option<String>,
    /// Whether everyone may download the original; otherwise only the author may.
    #[schema(value_type = Option<bool>, example = true, default = false, nullable = false)]
    share_original: Option<String>,
}

impl FormSchema for NewPost {
    const TEXT: &'static [&'static str] = &["message", "alt", "focus", "share_original"];
    const FILE: Option<&'static str> = Some("photo");
}

/// What to change of a post.
#[derive(ToSchema)]
#[schema(as = PostEdit)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct Edit {
    /// The new message. An empty one removes it; without the parameter it stays as it is.
    #[schema(example = "First light, at last", max_length = 5000, nullable = false)]
    message: Option<String>,
    /// The new alternative text. An empty one removes it; without the parameter it stays as it is.
    #[schema(example = "The sun rises over a harbour", max_length = 1000, nullable = false)]
    alt: Option<String>,
    /// The point that squares are cut around. A change gives the photo a new id; the old one answers 404.
    #[schema(example = "0.5,0.25", nullable = false)]
    focus: Option<String>,
    /// Whether everyone may download the original.
    #[schema(value_type = Option<bool>, example = true, nullable = false)]
    share_original: Option<String>,
}

impl FormSchema for Edit {
    const TEXT: &'static [&'static str] = &["message", "alt", "focus", "share_original"];
    const IS_REQUIRED: bool = false;
}

pub(crate) async fn create(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    IdempotencyKey(key): IdempotencyKey,
    form: FormBody<NewPost>,
) -> Result<Response, ApiError> {
    // A replay is answered before the body is read.
    if let Some(key) = &key
        && let Some(post) = http.app.find_replay(&caller, key).await?
    {
        return created(Posted::Replayed(post));
    }
    http.app.check_may_post(&caller).await?;
    let client = Client::anonymous(address).with_user(caller.user.id);
    let (mut upload, mut form, _permit) = read_upload(&http, client, form).await?;
    upload.focus = form.text("focus")?.map(parse_focus).transpose()?.unwrap_or_default();
    let content = PostContent {
        message: form.text("message")?.map(parse_message).transpose()?.flatten(),
        share_original: form.text("share_original")?.map(parse_sharing).transpose()?.unwrap_or(false),
    };
    created(http.app.create_post(&caller, Draft { upload, content, key }).await?)
}

fn created(posted: Posted) -> Result<Response, ApiError> {
    match posted {
        Posted::Replayed(post) => {
            let mut response = json_bytes(StatusCode::CREATED, PostJson::post(&post).bytes());
            response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
            Ok(response)
        }
        Posted::New { post, removed } => {
            let mut response = json_bytes(StatusCode::CREATED, PostJson::post(&post).bytes());
            set_removed_metadata_header(&mut response, removed)?;
            Ok(response)
        }
    }
}

pub(crate) async fn get(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    Ok(json_bytes(StatusCode::OK, read(&http, caller.as_ref(), id).await?))
}

/// Why a post is not put into the response cache.
enum Uncached {
    Hidden(Box<Post>),
    Error(ApiError),
}

impl Uncached {
    fn of(error: app::Error) -> Self {
        Self::Error(error.into())
    }
}

/// A post as JSON, with the caller's like.
pub(crate) async fn read(http: &Http, caller: Option<&app::Caller>, id: PostId) -> Result<Bytes, ApiError> {
    for _ in 0..CACHE_ATTEMPTS {
        let version = http.app.cache_version();
        // On a miss, the query that fills the cache also reads the caller's like.
        let mut filled_is_liked = None;
        let fill = async || {
            let post = http.app.post(caller, id).await.map_err(Uncached::of)?;
            http.app.await_published().await.map_err(Uncached::of)?;
            // Only some callers see it.
            if post.hidden_reason.is_some() || !post.user.status.is_shown() {
                return Err(Uncached::Hidden(Box::new(post)));
            }
            filled_is_liked = Some(post.is_liked);
            Ok(Arc::new(PostJson::post(&Post { is_liked: false, ..post })))
        };
        let json = match http.responses.posts.get_or_fill(id, fill).await {
            Ok(json) => json,
            Err(Uncached::Hidden(post)) => return Ok(PostJson::post(&post).bytes()),
            Err(Uncached::Error(error)) => return Err(error),
        };
        let is_liked = match (filled_is_liked, caller) {
            (None, None) => return Ok(json.bytes()),
            (Some(is_liked), _) => return Ok(json.with_likes(|_| is_liked)),
            (None, Some(caller)) => http.app.likes(caller, id).await?,
        };
        if version.is_some() && version == http.app.cache_version() {
            return Ok(json.with_likes(|_| is_liked));
        }
    }
    Ok(PostJson::post(&http.app.post(caller, id).await?).bytes())
}

pub(crate) async fn edit(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
    form: FormBody<Edit>,
) -> Result<Response, ApiError> {
    // A 404 or 403 takes precedence over an error of the form.
    http.app.check_editable(&caller, id).await?;
    let mut form = form.read(&http).await?;
    let edit = PostEdit {
        message: form.text("message")?.map(parse_message).transpose()?,
        alt: form.text("alt")?.map(parse_alt).transpose()?,
        share_original: form.text("share_original")?.map(parse_sharing).transpose()?,
    };
    let post = match form.text("focus")?.map(parse_focus).transpose()? {
        Some(focus) => {
            let client = Client::anonymous(address).with_user(caller.user.id);
            Box::pin(http.app.edit_post_focus(&caller, client, id, edit, focus)).await?
        }
        None if edit.is_empty() => http.app.post(Some(&caller), id).await?,
        None => http.app.edit_post(&caller, id, edit).await?,
    };
    Ok(json_bytes(StatusCode::OK, PostJson::post(&post).bytes()))
}

pub(crate) async fn delete(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Moderator).ok();
    http.app.delete_post(&caller, actor.as_ref(), id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

fn parse_message(text: String) -> Result<Option<Message>, ApiError> {
    Message::parse(text).map_err(|rule| ApiError::invalid("message", rule.0))
}

fn parse_focus(text: String) -> Result<Focus, ApiError> {
    text.parse().map_err(|rule: ValidationError| ApiError::invalid("focus", rule.0))
}

/// Also as other languages and HTML forms write it.
fn parse_sharing(text: String) -> Result<bool, ApiError> {
    match &*text.to_ascii_lowercase() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(ApiError::invalid("share_original", "share_original is true or false")),
    }
}
