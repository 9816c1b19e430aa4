//! Forms with a file: it is streamed to a spool file on disk, text parameters stay in memory. Also the
//! idempotency key of an upload.

use app::{App, Caller, Client, FairPermit, Holder, RemovedMetadata, Spool, SpoolShare, SpooledFile};
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use model::{Refusal, ValidationError};
use tokio::time::Instant;
use utoipa::openapi::path::ParameterIn;

use crate::http::error::ApiError;
use crate::http::extract::form_body::{FormBody, parsed};
use crate::http::extract::session::reauthenticate;
use crate::http::form::parameters::FormFields;
use crate::http::form::{FileSink, FormData, FormError};
use crate::http::openapi::{Argument, Entry, parameter, string};
use crate::http::state::{Http, MAX_SMALL_BODY};

/// Reads a photo and the form that it is sent with. The permit and the share are held until the upload ends;
/// while the body is read, the permit can be lost to a client with fewer uploads.
pub(crate) async fn read_photo<T: FormFields>(
    http: &Http,
    caller: &mut Caller,
    client: Client,
    form: FormBody<T>,
) -> Result<(SpooledFile, T, (FairPermit, SpoolShare)), ApiError> {
    let permit = http.app.begin_upload(client)?;
    let mut share = http.app.begin_spooling(caller).await?;
    let limit = FileLimit { share: Some(&mut share), ..FileLimit::of_photo(http) };
    let (photo, form) = read_file(http, caller, form, limit, &permit).await?;
    Ok((photo, form, (permit, share)))
}

/// How large the file of a form may be, and what to send.
pub(crate) struct FileLimit<'a> {
    pub(crate) max: u64,
    /// The error of a larger file, if `max` comes from a quota.
    pub(crate) over_quota: Option<app::Error>,
    /// What counts towards the quota of the caller while it arrives.
    pub(crate) share: Option<&'a mut SpoolShare>,
    /// What to send.
    pub(crate) about: &'static str,
}

impl FileLimit<'_> {
    pub(crate) fn of_photo(http: &Http) -> Self {
        Self { max: http.app.max_upload(), over_quota: None, share: None, about: "an image file" }
    }
}

/// Reads a form, and its file into the staging folder. Until it has arrived, the permit can be lost to a
/// client with fewer. Fails if the session has ended meanwhile.
pub(crate) async fn read_file<T: FormFields>(
    http: &Http,
    caller: &mut Caller,
    form: FormBody<T>,
    limit: FileLimit<'_>,
    permit: &FairPermit,
) -> Result<(SpooledFile, T), ApiError> {
    let (file, form) = tokio::select! {
        read = spool_file(http, form, limit, permit.holder()) => read?,
        () = permit.holder().revoked() => return Err(app::UPLOAD_BUSY.into()),
    };
    reauthenticate(http, caller).await?;
    permit.holder().set_busy(true);
    Ok((file, parsed(form)?))
}

async fn spool_file<T: FormFields>(
    http: &Http,
    form: FormBody<T>,
    limit: FileLimit<'_>,
    holder: &Holder,
) -> Result<(SpooledFile, FormData), ApiError> {
    let FormBody { headers, body, memory, .. } = form;
    let FileLimit { max, over_quota, share, about } = limit;
    let name = T::FILE.unwrap_or_default();
    let too_large = || over_quota.clone().map_or_else(|| too_large(name, max), ApiError::from);
    // A body whose Content-Length exceeds the limit is rejected before it is read.
    let content_length =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if content_length.is_some_and(|length| length > max + MAX_SMALL_BODY) {
        return Err(too_large());
    }
    let (app, spool, is_too_large, spool_error) = (&http.app, None, false, None);
    let mut sink = SpoolSink { app, name, holder, max, share, spool, is_too_large, spool_error };
    let form = http.read_upload_form(&headers, body, T::TEXT, max, &mut sink, memory).await;
    if let Some(error) = sink.spool_error {
        return Err(error.into());
    }
    let form: FormData = match form {
        Err(FormError::TooLarge) if sink.is_too_large => return Err(too_large()),
        other => other?,
    };
    let spool = sink.spool.filter(|spool| spool.bytes_written() > 0);
    let missing = || {
        let rule = format!("the parameter {name} is missing: send {about}");
        ApiError::invalid(name, ValidationError::refused(Refusal::Missing, rule))
    };
    let spool = spool.ok_or_else(missing)?;
    Ok((spool.finish().await.map_err(app::Error::from)?, form))
}

pub(crate) fn too_large(name: &'static str, max: u64) -> ApiError {
    let rule = format!("the {name} is larger than the limit of {}; send a smaller one", file_size(max));
    ApiError::invalid(name, ValidationError::refused(Refusal::FileTooLarge, rule).with_limit(max))
}

/// The limit of a file as people write it, rounded down: a file of this size is accepted, whether its `MB`
/// are a million bytes or 2^20.
pub(crate) fn file_size(max: u64) -> String {
    if max < 1 << 20 { format!("{} kB", max >> 10) } else { format!("{} MB", max >> 20) }
}

/// Sets `X-Removed-Metadata` to the kinds of metadata that were removed from the photo, if any.
pub(crate) fn set_removed_metadata_header(
    response: &mut Response,
    removed: RemovedMetadata,
) -> Result<(), ApiError> {
    if !removed.is_empty() {
        let kinds = HeaderValue::try_from(removed.to_string()).map_err(|_| ApiError::internal())?;
        response.headers_mut().insert("x-removed-metadata", kinds);
    }
    Ok(())
}

/// The extractor of the `Idempotency-Key` header, which makes the retry of an upload safe.
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

impl FromRequestParts<Http> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Http) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        // A value that is no ASCII is as invalid as an empty one.
        let key = value.to_str().unwrap_or_default().parse::<model::IdempotencyKey>();
        match key {
            Ok(key) => Ok(Self(Some(key.into_string()))),
            Err(rule) => Err(ApiError::invalid("Idempotency-Key", rule)),
        }
    }
}

impl Argument for IdempotencyKey {
    fn describe(entry: &mut Entry) {
        let about = "Makes a retry safe: the same request with the same key within 24 hours returns the post that the \
            first one created; another request is 422. 1 to 255 visible ASCII characters.";
        let key = string().min_length(Some(1)).max_length(Some(255)).pattern(Some("^[!-~]{1,255}$"));
        entry.parameter(parameter("Idempotency-Key", ParameterIn::Header, about, key));
    }
}

/// Writes the file of a form to a spool file.
struct SpoolSink<'a> {
    app: &'a App,
    name: &'static str,
    holder: &'a Holder,
    max: u64,
    share: Option<&'a mut SpoolShare>,
    spool: Option<Spool>,
    /// Whether the file, not the rest of the form, exceeds its limit.
    is_too_large: bool,
    /// The error of the spool file or of its share: not one of the form.
    spool_error: Option<app::Error>,
}

impl FileSink for SpoolSink<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(&mut self) -> bool {
        self.spool.is_none()
    }

    async fn write(&mut self, chunk: &[u8]) -> Result<(), FormError> {
        match self.append(chunk).await {
            Ok(total) if total > self.max => {
                self.is_too_large = true;
                Err(FormError::TooLarge)
            }
            Ok(_) => Ok(()),
            Err(error) => {
                // The form error only ends the parsing: `read_file` reports `spool_error`.
                self.spool_error = Some(error);
                Err(FormError::Malformed("the file could not be stored".into()))
            }
        }
    }
}

impl SpoolSink<'_> {
    async fn append(&mut self, chunk: &[u8]) -> Result<u64, app::Error> {
        let spool = match &mut self.spool {
            Some(spool) => spool,
            empty => empty.insert(self.app.spool().await?),
        };
        self.app.check_upload_space()?;
        if let Some(share) = &mut self.share {
            share.add(chunk.len())?;
        }
        spool.write(chunk).await?;
        self.holder.record_progress(Instant::now());
        Ok(spool.bytes_written())
    }
}
