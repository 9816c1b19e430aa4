//! The form of a new post, and the post that it creates: of one request, or of an upload in several.

use std::net::IpAddr;

use app::{Caller, Client, Draft, Posted};
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use model::{Focus, Message, PhotoId, PostContent, ValidationError};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::handlers::upload::{read_upload, set_removed_metadata_header};
use crate::http::json::json_bytes;
use crate::http::post_json::PostJson;
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
    /// The centre by default.
    #[schema(
        example = "0.5,0.25",
        pattern = r"^(0(\.[0-9]+)?|1(\.0+)?),(0(\.[0-9]+)?|1(\.0+)?)$",
        nullable = false
    )]
    focus: Option<String>,
    /// Whether everyone may download the original; otherwise, and by default, only the author may.
    #[schema(value_type = Option<bool>, example = true, nullable = false)]
    share_original: Option<String>,
}

impl FormSchema for NewPost {
    const TEXT: &'static [&'static str] = &["message", "alt", "focus", "share_original"];
    const FILE: Option<&'static str> = Some("photo");
}

/// Reads the form and creates its post. `resumed` is the resumable upload that the form is read from.
pub(crate) async fn create(
    http: &Http,
    caller: &mut Caller,
    address: IpAddr,
    key: Option<String>,
    resumed: Option<PhotoId>,
    form: FormBody<NewPost>,
) -> Result<Response, ApiError> {
    if let Some(replay) = admit(http, caller, key.as_deref(), resumed).await? {
        return Ok(replay);
    }
    let client = Client::anonymous(address).with_user(caller.user.id);
    let (mut upload, mut form, _held) = read_upload(http, caller, client, form).await?;
    upload.focus = form.text("focus")?.map(parse_focus).transpose()?.unwrap_or_default();
    let content = PostContent {
        message: form.text("message")?.map(parse_message).transpose()?.flatten(),
        share_original: form.text("share_original")?.map(parse_sharing).transpose()?.unwrap_or(false),
    };
    created(http.app.create_post(caller, Draft { upload, content, key, resumed }).await?)
}

/// What is checked before the body is read. A replay that does not depend on the body is returned.
pub(crate) async fn admit(
    http: &Http,
    caller: &Caller,
    key: Option<&str>,
    resumed: Option<PhotoId>,
) -> Result<Option<Response>, ApiError> {
    http.app.admit_post(caller, key, resumed).await?.map(|post| created(Posted::Replayed(post))).transpose()
}

pub(crate) fn created(posted: Posted) -> Result<Response, ApiError> {
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

pub(crate) fn parse_message(text: String) -> Result<Option<Message>, ApiError> {
    Message::parse(text).map_err(|rule| ApiError::invalid("message", rule))
}

pub(crate) fn parse_focus(text: String) -> Result<Focus, ApiError> {
    text.parse().map_err(|rule: ValidationError| ApiError::invalid("focus", rule))
}

/// Also as other languages and HTML forms write it.
pub(crate) fn parse_sharing(text: String) -> Result<bool, ApiError> {
    match &*text.to_ascii_lowercase() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(ApiError::invalid("share_original", "share_original is true or false")),
    }
}
