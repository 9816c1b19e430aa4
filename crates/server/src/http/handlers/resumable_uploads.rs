//! Resumable uploads: `POST /posts` in several requests, by draft-ietf-httpbis-resumable-upload-12 of the
//! IETF. Without interim responses, which hyper cannot send.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use app::{AppendRequest, Caller, Client, Posted, ResumableUpload, Settings, UPLOAD_BUSY, UploadStart};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use model::PhotoId;
use parking_lot::Mutex;

use crate::http::dto::Empty;
use crate::http::error::{ApiError, UPLOAD_COMPLETE, UPLOAD_OFFSET};
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::path::{PathId, UploadId};
use crate::http::extract::session::{RequiredSession, reauthenticate};
use crate::http::form::{FormError, is_multipart};
use crate::http::handlers::new_post::{self, NewPost};
use crate::http::handlers::upload::too_large;
use crate::http::json::json;
use crate::http::state::Http;

const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");
const UPLOAD_LIMIT: HeaderName = HeaderName::from_static("upload-limit");

/// The media type of a piece of a body.
pub(crate) const PARTIAL_UPLOAD: &str = "application/partial-upload";

/// The structured fields of a request; a malformed one counts as absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UploadFields {
    pub(crate) complete: Option<bool>,
    offset: Option<u64>,
    length: Option<u64>,
    content_length: Option<u64>,
}

impl UploadFields {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let item = |name| {
            let value: &str = headers.get(name)?.to_str().ok()?;
            // Without the parameters of the item.
            Some(value.split(';').next().unwrap_or_default().trim())
        };
        let integer = |name| {
            let digits: &str = item(name)?;
            // `parse` accepts a sign as well.
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let complete = match item(UPLOAD_COMPLETE) {
            Some("?1") => Some(true),
            Some("?0") => Some(false),
            _ => None,
        };
        Self {
            complete,
            offset: integer(UPLOAD_OFFSET),
            length: integer(UPLOAD_LENGTH),
            content_length: integer(CONTENT_LENGTH),
        }
    }

    /// The length of the whole body, if it is known. All that tells it must agree.
    pub(crate) fn whole_length(&self, offset: u64, known: Option<u64>) -> Result<Option<u64>, ApiError> {
        let end = self.content_length.map(|length| offset.saturating_add(length));
        let implied = end.filter(|_| self.complete == Some(true));
        let mut lengths = [known, self.length, implied].into_iter().flatten();
        let length = lengths.next();
        let is_exceeded = length.is_some_and(|length| offset > length || end.is_some_and(|end| end > length));
        if is_exceeded || lengths.any(|other| Some(other) != length) {
            return Err(inconsistent_length());
        }
        Ok(length)
    }
}

fn inconsistent_length() -> ApiError {
    ApiError::invalid("Upload-Length", "the lengths of this upload contradict each other; start a new one")
}

/// What an upload may be, for clients that ask before they start one.
pub(crate) async fn limits(State(http): State<Http>) -> Response {
    let allow = (ALLOW, HeaderValue::from_static("OPTIONS, POST"));
    let limit = (UPLOAD_LIMIT, upload_limit(&http, Settings::UPLOAD_TTL));
    (StatusCode::NO_CONTENT, [allow, limit]).into_response()
}

/// Starts an upload with the first piece of the body, which may be empty.
pub(crate) async fn start(
    http: Http,
    caller: Caller,
    address: IpAddr,
    key: Option<String>,
    fields: UploadFields,
    form: FormBody<NewPost>,
) -> Result<Response, ApiError> {
    if let Some(replay) = new_post::admit(&http, &caller, key.as_deref(), None).await? {
        return of_whole_body(Ok(replay));
    }
    let FormBody { mut headers, body, .. } = form;
    headers.remove(CONTENT_LENGTH);
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Some(content_type) = content_type.filter(|_| is_multipart(&headers)) else {
        return Err(FormError::UnsupportedMediaType.into());
    };
    let length = fields.whole_length(0, None)?;
    if length.is_some_and(|length| length > http.max_upload_form()) {
        return Err(too_large("photo", http.app.max_upload()));
    }
    let new = UploadStart { content_type: content_type.to_owned(), key, length };
    let id = http.app.start_upload(&caller, new).await?;
    detached(async move {
        let piece =
            Piece { http: http.clone(), caller: caller.clone(), address, id, offset: 0, length, body };
        if let Err(error) = piece.append().await {
            // The client does not know where to send the rest.
            http.app.cancel_upload(&caller, id).await?;
            return Err(error);
        }
        let upload = http.app.resumable_upload(&caller, id).await?;
        let mut response = json(StatusCode::CREATED, &Empty {});
        let location = HeaderValue::try_from(format!("/uploads/{id}")).map_err(|_| ApiError::internal())?;
        response.headers_mut().insert(LOCATION, location);
        response.headers_mut().extend(state_headers(&http, &upload));
        Ok(response)
    })
    .await
}

/// The offset of an upload.
pub(crate) async fn get(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(UploadId(id)): PathId<UploadId>,
) -> Result<Response, ApiError> {
    let upload = http.app.interrupt_upload(&caller, id).await?;
    Ok((StatusCode::NO_CONTENT, state_headers(&http, &upload)).into_response())
}

/// Appends a piece of the body, and creates the post with the last one.
pub(crate) async fn append(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(UploadId(id)): PathId<UploadId>,
    request: Request,
) -> Result<Response, ApiError> {
    let upload = http.app.resumable_upload(&caller, id).await?;
    caller.check_active()?;
    let (parts, body) = request.into_parts();
    let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if media_type.is_none_or(|media_type| !media_type.trim().eq_ignore_ascii_case(PARTIAL_UPLOAD)) {
        return Err(ApiError::unsupported_media_type(
            "unsupported Content-Type: send application/partial-upload",
        ));
    }
    let fields = UploadFields::of(&parts.headers);
    let Some(is_last) = fields.complete else {
        return Err(ApiError::invalid(
            "Upload-Complete",
            "Upload-Complete is ?1 with the last piece, else ?0",
        ));
    };
    let Some(offset) = fields.offset else {
        return Err(ApiError::invalid("Upload-Offset", "Upload-Offset is the number of bytes sent before"));
    };
    if offset != upload.received {
        return Err(app::Error::OffsetMismatch { received: upload.received }.into());
    }
    let length = fields.whole_length(offset, upload.length)?;
    if length.is_some_and(|length| length > http.max_upload_form()) {
        return Err(too_large("photo", http.app.max_upload()));
    }
    let is_empty = fields.content_length == Some(0);
    detached(async move {
        // Without content, it may be the repetition of a request whose response was lost.
        let received = if is_last && is_empty {
            let upload = http.app.interrupt_upload(&caller, id).await?;
            if upload.is_complete {
                return of_whole_body(completed(&http, &caller, &upload).await);
            }
            upload.received
        } else {
            let piece =
                Piece { http: http.clone(), caller: caller.clone(), address, id, offset, length, body };
            piece.append().await?
        };
        if !is_last {
            let upload = http.app.resumable_upload(&caller, id).await?;
            return Ok((StatusCode::NO_CONTENT, state_headers(&http, &upload)).into_response());
        }
        if length.is_some_and(|length| length != received) {
            return Err(inconsistent_length());
        }
        let created = create_post(&http, &mut caller, address, id, &upload).await;
        if created.is_ok()
            && let Err(error) = http.app.complete_upload(id).await
        {
            // A repetition finds the post by its idempotency key, and tries again.
            tracing::warn!(upload = %id, %error, "completion of an upload not recorded");
        }
        of_whole_body(created)
    })
    .await
}

pub(crate) async fn cancel(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(UploadId(id)): PathId<UploadId>,
) -> Result<Response, ApiError> {
    http.app.cancel_upload(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Marks the response to the whole body, unless a repetition of the last request may succeed.
pub(crate) fn of_whole_body(created: Result<Response, ApiError>) -> Result<Response, ApiError> {
    let complete = |is_complete| HeaderValue::from_static(if is_complete { "?1" } else { "?0" });
    match created {
        Ok(mut response) => {
            response.headers_mut().insert(UPLOAD_COMPLETE, complete(true));
            Ok(response)
        }
        Err(error) => {
            let may_resolve = error.status().is_server_error()
                || [StatusCode::TOO_MANY_REQUESTS, StatusCode::NOT_FOUND].contains(&error.status());
            Err(error.with_header(UPLOAD_COMPLETE, complete(!may_resolve)))
        }
    }
}

/// A piece of the body of an upload.
struct Piece {
    http: Http,
    caller: Caller,
    address: IpAddr,
    id: PhotoId,
    offset: u64,
    length: Option<u64>,
    body: Body,
}

impl Piece {
    /// Returns the number of bytes that the upload has now. What arrives before an error is stored, unless
    /// the session has ended: then only parts that were stored before.
    async fn append(self) -> Result<u64, ApiError> {
        let Self { http, mut caller, address, id, offset, length, body } = self;
        let client = Client::anonymous(address).with_user(caller.user.id);
        let mut append = http.app.begin_append(&caller, client, id, offset, length).await?;
        let max = length.unwrap_or(http.max_upload_form());
        let read = read_piece(&http, &mut append, body, max.saturating_sub(offset)).await;
        reauthenticate(&http, &mut caller).await?;
        match read {
            Err(PieceError::Body(FormError::TooLarge)) => {
                http.app.cancel_upload(&caller, id).await?;
                let too_large = || too_large("photo", http.app.max_upload());
                Err(length.map_or_else(too_large, |_| inconsistent_length()))
            }
            read => {
                // An error of the storage is not repeated.
                if !matches!(read, Err(PieceError::Storage(_))) {
                    append.store().await?;
                }
                read.map_err(ApiError::from)?;
                Ok(append.received())
            }
        }
    }
}

enum PieceError {
    Body(FormError),
    Storage(app::Error),
    /// A user with fewer uploads got the permit.
    Revoked,
}

impl From<PieceError> for ApiError {
    fn from(error: PieceError) -> Self {
        match error {
            PieceError::Body(error) => error.into(),
            PieceError::Storage(error) => error.into(),
            PieceError::Revoked => UPLOAD_BUSY.into(),
        }
    }
}

async fn read_piece(
    http: &Http,
    append: &mut AppendRequest,
    body: Body,
    max_bytes: u64,
) -> Result<(), PieceError> {
    let mut reader = http.read_piece(body, max_bytes);
    let holder = append.permit().holder().clone();
    loop {
        let chunk = tokio::select! {
            chunk = reader.next_chunk() => chunk.map_err(PieceError::Body)?,
            () = holder.revoked() => return Err(PieceError::Revoked),
        };
        match chunk {
            Some(chunk) => append.write(&chunk).await.map_err(PieceError::Storage)?,
            None => return Ok(()),
        }
    }
}

/// Handles the body of an upload like that of a plain request.
async fn create_post(
    http: &Http,
    caller: &mut Caller,
    address: IpAddr,
    id: PhotoId,
    upload: &ResumableUpload,
) -> Result<Response, ApiError> {
    let read_error = Arc::new(Mutex::new(None));
    let slot = read_error.clone();
    let body = http.app.upload_body(id).await?.inspect_err(move |error| *slot.lock() = Some(error.clone()));
    let mut headers = HeaderMap::new();
    let content_type = HeaderValue::try_from(&upload.content_type).map_err(|_| ApiError::internal())?;
    headers.insert(CONTENT_TYPE, content_type);
    let form = FormBody::stored(headers, Body::from_stream(body));
    let created = new_post::create(http, caller, address, Some(upload.key.clone()), Some(id), form).await;
    if created.is_ok() {
        return created;
    }
    // A repetition of the request may have created the post and deleted the parts.
    let upload = http.app.resumable_upload(caller, id).await?;
    if upload.is_complete {
        return completed(http, caller, &upload).await;
    }
    let Some(error) = read_error.lock().take() else { return created };
    if matches!(error, app::Error::NotFound(_)) {
        http.app.cancel_upload(caller, id).await?;
    }
    Err(error.into())
}

/// The response to a repetition of the request that has completed the upload.
async fn completed(http: &Http, caller: &Caller, upload: &ResumableUpload) -> Result<Response, ApiError> {
    new_post::created(Posted::Replayed(http.app.uploaded_post(caller, upload).await?))
}

fn state_headers(http: &Http, upload: &ResumableUpload) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(UPLOAD_OFFSET, upload.received.into());
    headers.insert(UPLOAD_COMPLETE, HeaderValue::from_static(if upload.is_complete { "?1" } else { "?0" }));
    let length = upload.length.or(upload.is_complete.then_some(upload.received));
    headers.extend(length.map(|length| (UPLOAD_LENGTH, HeaderValue::from(length))));
    headers.insert(UPLOAD_LIMIT, upload_limit(http, http.app.upload_lifetime(upload)));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers
}

fn upload_limit(http: &Http, lifetime: Duration) -> HeaderValue {
    let limit = format!("max-size={}, max-age={}", http.max_upload_form(), lifetime.as_secs());
    HeaderValue::try_from(limit).expect("ASCII letters and digits")
}

/// Completes even if the client disconnects, so that what has arrived is stored.
async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::spawn(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "task of an upload failed");
        Err(ApiError::internal())
    })
}
