//! The photo one shows of oneself.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use utoipa::ToSchema;

use crate::http::dto::{Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::session::RequiredSession;
use crate::http::handlers::upload::{read_upload, set_removed_metadata_header};
use crate::http::json::json;
use crate::http::state::Http;

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
) -> Result<Response, ApiError> {
    let _room = http.app.begin_upload(&caller)?;
    let (upload, _) = read_upload(&http, form).await?;
    let (user, removed) = http.app.set_profile_photo(&caller, upload).await?;
    let mut response = json(StatusCode::OK, &User::from(&user));
    set_removed_metadata_header(&mut response, removed)?;
    Ok(response)
}

pub(crate) async fn delete(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    http.app.delete_profile_photo(&caller).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
