//! The photo one shows of oneself.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use utoipa::ToSchema;

use super::Http;
use super::auth::SignedIn;
use super::error::Problem;
use super::upload::{read_upload, tell_removed};
use super::wire::{Empty, User, json};

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form; it is read by upload.rs")]
pub(crate) struct ProfilePhoto {
    /// The image file: JPEG, PNG, WebP, GIF, AVIF or HEIC, told by its bytes.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    photo: Vec<u8>,
    /// What the photo shows, for those who do not see it: up to 1,000 characters, kept as sent. Empty is the same as none.
    #[schema(example = "Ada at her desk", max_length = 1000, nullable = false)]
    alt: Option<String>,
}

/// Show a photo of oneself
///
/// Takes what a post takes, with the same limits. An earlier photo and every image made of it are gone when the
/// answer is sent. A small one may also come as `application/x-www-form-urlencoded`, in a body of up to 256 KiB.
#[utoipa::path(
    put, path = "/me/photo", tag = "accounts", operation_id = "set_profile_photo",
    request_body(content = ProfilePhoto, content_type = "multipart/form-data"),
    responses((status = 200, description = "The caller, with the photo", body = User, headers(
        ("X-Removed-Metadata" = String, description = "The kinds of metadata that were taken out of the photo, as in \
            `gps, exif`; absent when there was none"),
    ))),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn set(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let _room = http.app.begin_upload(&caller)?;
    let (upload, _) = read_upload(&http, &parts.headers, body, &["alt"]).await?;
    let (user, removed) = http.app.set_profile_photo(&caller, upload).await?;
    let mut response = json(StatusCode::OK, &User::from(&user));
    tell_removed(&mut response, removed)?;
    Ok(response)
}

/// Show no photo of oneself
///
/// The photo and every image made of it are gone when the answer is sent. Fine if there was none.
#[utoipa::path(
    delete, path = "/me/photo", tag = "accounts", operation_id = "delete_profile_photo",
    responses((status = 200, description = "There is no photo", body = Empty)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn delete(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
) -> Result<Response, Problem> {
    http.app.delete_profile_photo(&caller).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
