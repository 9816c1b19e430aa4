//! The profile photo of the current user.

use app::Client;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use utoipa::ToSchema;

use crate::http::dto::{Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::session::RequiredSession;
use crate::http::handlers::upload::{read_upload, set_removed_metadata_header};
use crate::http::json::json;
use crate::http::state::Http;

/// A new profile photo.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct ProfilePhoto {
    /// An image file; its format is detected by its content.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    photo: Vec<u8>,
    /// Alternative text that describes the photo, up to 1,000 characters. An empty one counts as none.
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
    ClientAddress(address): ClientAddress,
    form: FormBody<ProfilePhoto>,
) -> Result<Response, ApiError> {
    let client = Client::anonymous(address).with_user(caller.user.id);
    let (upload, _, _permit) = read_upload(&http, client, form).await?;
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
