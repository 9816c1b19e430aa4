//! Imports into the current user's account: starting one, and its progress.

use app::{App, Client, ImportStatus, Importer};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::account_archive::{Archive, ArchiveError, ImportJob, MAX_DIRECTORY, run_import};
use crate::http::dto::{AsDisplay, Empty};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::form;
use crate::http::handlers::upload::{FileLimit, read_file};
use crate::http::json::json;
use crate::http::state::Http;

form! {
    /// The archive of an account.
    pub(crate) struct NewImport {
        file archive: "application/zip" = "The zip that `GET /me/export` of this or another instance has returned.",
    }
}

/// The last import of the current user.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountImport {
    /// `running`, `finished`, or `interrupted`: then send the archive again.
    #[schema(example = "running", pattern = "^(running|finished|interrupted)$")]
    status: &'static str,
    /// When it was started, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    started_at: AsDisplay<Timestamp>,
    /// When it ended, in UTC; absent before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, example = "2026-11-14T09:31:00+0000", nullable = false,
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    finished_at: Option<AsDisplay<Timestamp>>,
    /// The number of posts in the archive.
    #[schema(example = 12)]
    total: u64,
    /// Posts that were created.
    #[schema(example = 10)]
    imported: u64,
    /// Posts that an earlier import has created, or that were published here.
    #[schema(example = 2)]
    skipped: u64,
    /// Posts that could not be created, because this instance does not accept their photos or texts.
    #[schema(example = 0)]
    failed: u64,
    /// Why the import ended early, or why the first post failed; absent if all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "photos/2026-11-14-7.jpg: the photo is damaged", nullable = false)]
    error: Option<String>,
}

impl From<ImportStatus> for AccountImport {
    fn from(ImportStatus { import, is_running }: ImportStatus) -> Self {
        let status = match import.finished_at {
            Some(_) => "finished",
            None if is_running => "running",
            None => "interrupted",
        };
        Self {
            status,
            started_at: AsDisplay(import.started_at),
            finished_at: import.finished_at.map(AsDisplay),
            total: import.total,
            imported: import.progress.imported,
            skipped: import.progress.skipped,
            failed: import.progress.failed,
            error: import.progress.error,
        }
    }
}

pub(crate) async fn start(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    form: FormBody<NewImport>,
) -> Result<Response, ApiError> {
    http.app.check_may_import(&caller).await?;
    let client = Client::anonymous(address).with_user(caller.user.id);
    let mut permit = http.app.import_permit(client)?;
    let (max, over_quota) = http.app.max_import(&caller).await?;
    let about = "the zip that was downloaded from the settings";
    let limit = FileLimit { max, over_quota, share: None, about };
    let (file, NewImport {}) = read_file(&http, &mut caller, form, limit, &permit).await?;
    // An import that is interrupted loses nothing.
    permit.holder().set_busy(false);
    let opened = tokio::task::spawn_blocking(move || {
        let reserve = |bytes| App::grow_import(&mut permit, bytes);
        (Archive::open(file.into_file(), MAX_DIRECTORY, reserve), permit)
    });
    let (archive, permit) = opened.await.map_err(|_| ApiError::internal())?;
    let archive = archive.map_err(|error| match error {
        ArchiveError::NoMemory => ApiError::busy(),
        error => ApiError::invalid("archive", error.rule()),
    })?;
    let importer = Importer::new(&caller, client);
    let run = http.app.begin_import(&importer, archive.account.posts).await?;
    let app = http.app.clone();
    tokio::spawn(run_import(ImportJob { app, importer, run, archive, permit: Some(permit) }));
    let status = http.app.import_status(&caller).await?;
    Ok(json(StatusCode::ACCEPTED, &AccountImport::from(status)))
}

pub(crate) async fn status(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    Ok(json(StatusCode::OK, &AccountImport::from(http.app.import_status(&caller).await?)))
}

pub(crate) async fn cancel(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    http.app.cancel_import(&caller).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
