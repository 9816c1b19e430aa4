//! Exports of the current user's account: starting one, and downloading it.

use app::Client;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::account_archive::{ArchiveSource, InstanceRecord, stream};
use crate::http::dto::AsDisplay;
use crate::http::error::ApiError;
use crate::http::extract::base_url::BaseUrl;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::session::RequiredSession;
use crate::http::json::json;
use crate::http::pages::archive_page::ArchivePage;
use crate::http::state::Http;

/// An export that can be downloaded.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountExport {
    /// When it was started, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    created_at: AsDisplay<Timestamp>,
    /// Until when it can be downloaded, in UTC.
    #[schema(value_type = String, example = "2026-11-15T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    expires_at: AsDisplay<Timestamp>,
    /// The number of posts.
    #[schema(example = 12)]
    posts: u64,
    /// The size of the stored photos, in bytes: the archive is at most about that large.
    #[schema(example = 48_000_000)]
    bytes: u64,
}

pub(crate) async fn start(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    let app::AccountExport { created_at, expires_at, posts, bytes } = http.app.start_export(&caller).await?;
    let (created_at, expires_at) = (AsDisplay(created_at), AsDisplay(expires_at));
    Ok(json(StatusCode::CREATED, &AccountExport { created_at, expires_at, posts, bytes }))
}

pub(crate) async fn download(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    BaseUrl(url): BaseUrl,
    page: ArchivePage,
) -> Result<Response, ApiError> {
    let permit = http.app.begin_export(&caller, Client::anonymous(address).with_user(caller.user.id)).await?;
    let instance = http.app.instance().await?;
    let name = instance.name().to_owned();
    let exported_at = http.clock.now();
    // Usernames have no characters that need quoting.
    let file = format!("attachment; filename=\"{}-{}.zip\"", caller.user.username, date(exported_at));
    let file = HeaderValue::try_from(file).map_err(|_| ApiError::internal())?;
    let source = ArchiveSource {
        app: http.app.clone(),
        caller,
        instance: InstanceRecord { name, url },
        exported_at,
        page,
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (CONTENT_DISPOSITION, file),
        (CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    Ok((headers, stream(source, permit)).into_response())
}

fn date(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}
