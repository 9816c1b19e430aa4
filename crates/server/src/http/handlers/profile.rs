//! The profile of the current user.

use app::Client;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{ProfileEdit, Text, TextRule};
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
    const FILE: Option<&'static str> = Some("photo");
}

/// An edit of the profile. A parameter that is not sent leaves its text as it is, an empty one removes it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct Profile {
    /// The name to show beside the username: one line of up to 64 characters.
    #[schema(example = "Ada Lovelace", max_length = 64, nullable = false)]
    display_name: Option<String>,
    /// What the user writes about themselves, up to 500 characters.
    #[schema(example = "Photos of engines", max_length = 500, nullable = false)]
    bio: Option<String>,
    /// The address of a website, which begins with `https://` or `http://`.
    #[schema(example = "https://ada.example", max_length = 500, nullable = false)]
    link: Option<String>,
}

impl FormSchema for Profile {
    const TEXT: &'static [&'static str] = &["display_name", "bio", "link"];
    const IS_REQUIRED: bool = false;
}

pub(crate) async fn edit(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    form: FormBody<Profile>,
) -> Result<Response, ApiError> {
    let mut form = form.read(&http, &mut caller).await?;
    let edit = ProfileEdit {
        display_name: form.text("display_name")?.map(|raw| parse("display_name", raw)).transpose()?,
        bio: form.text("bio")?.map(|raw| parse("bio", raw)).transpose()?,
        link: form.text("link")?.map(|raw| parse("link", raw)).transpose()?,
    };
    let user = http.app.edit_profile(&caller, edit).await?;
    Ok(json(StatusCode::OK, &User::from(&user)))
}

fn parse<Rule: TextRule>(field: &'static str, raw: String) -> Result<Option<Text<Rule>>, ApiError> {
    Text::parse(raw).map_err(|rule| ApiError::invalid(field, rule))
}

pub(crate) async fn set(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    form: FormBody<ProfilePhoto>,
) -> Result<Response, ApiError> {
    let client = Client::anonymous(address).with_user(caller.user.id);
    let (upload, _, _held) = read_upload(&http, &mut caller, client, form).await?;
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
