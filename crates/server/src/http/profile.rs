//! The photo one shows of oneself.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use utoipa::ToSchema;

use super::Http;
use super::auth::RequiredSession;
use super::error::Problem;
use super::form::{FormBody, FormSchema};
use super::upload::{read_upload, tell_removed};
use super::wire::{Empty, User, json};

/// A photo for the profile.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct ProfilePhoto {
    /// An image file; its format is detected by its content.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    photo: Vec<u8>,
    /// Alternative text: what the photo shows, in up to 1,000 characters. Empty counts as none.
    #[schema(example = "Ada at her desk", max_length = 1000, nullable = false)]
    alt: Option<String>,
}

impl FormSchema for ProfilePhoto {
    const TEXT: &'static [&'static str] = &["alt"];
    const HAS_PHOTO: bool = true;
}

pub(crate) async fn set(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    form: FormBody<ProfilePhoto>,
) -> Result<Response, Problem> {
    let _room = http.app.begin_upload(&caller)?;
    let (upload, _) = read_upload(&http, form).await?;
    let (user, removed) = http.app.set_profile_photo(&caller, upload).await?;
    let mut response = json(StatusCode::OK, &User::from(&user));
    tell_removed(&mut response, removed)?;
    Ok(response)
}

pub(crate) async fn delete(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, Problem> {
    http.app.delete_profile_photo(&caller).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
