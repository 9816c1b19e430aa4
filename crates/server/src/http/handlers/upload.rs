//! An upload's form: the photo goes to the disk as it arrives, the rest is small.

use app::{App, Removed, Spool, Upload};
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use model::Alt;
use utoipa::openapi::path::ParameterIn;

use crate::http::error::ApiError;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::form::{FileSink, Form, FormError};
use crate::http::openapi::{Argument, Entry, parameter, string};
use crate::http::state::{Http, SMALL_BODY};

/// Reads the photo and its alternative text; other parameters stay in the form.
pub(crate) async fn read_upload<T: FormSchema>(
    http: &Http,
    form: FormBody<T>,
) -> Result<(Upload, Form), ApiError> {
    let FormBody { headers, body, .. } = form;
    let max = http.app.max_upload();
    let too_large = || {
        let limit = if max.is_multiple_of(1 << 20) {
            format!("{} MiB", max >> 20)
        } else {
            format!("{} KiB", max >> 10)
        };
        ApiError::invalid("photo", format!("the photo is too large; up to {limit} are accepted"))
    };
    // What is announced as too large is refused before a byte of it is read.
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max + SMALL_BODY) {
        return Err(too_large());
    }
    let mut sink = PhotoSink { app: &http.app, max, spool: None, over: false, failed: None };
    let form = http.upload_form(&headers, body, T::TEXT, &mut sink).await;
    if let Some(error) = sink.failed {
        return Err(error.into());
    }
    let mut form: Form = match form {
        Err(FormError::TooLarge) if sink.over => return Err(too_large()),
        other => other?,
    };
    let spool = sink.spool.filter(|spool| spool.written() > 0);
    let Some(spool) = spool else {
        return Err(ApiError::invalid("photo", "the parameter photo is missing: send an image file"));
    };
    let alt = form.text("alt")?.map(parse_alt).transpose()?.flatten();
    let upload = Upload { photo: spool.finish().await.map_err(app::Error::from)?, alt };
    Ok((upload, form))
}

pub(crate) fn parse_alt(text: String) -> Result<Option<Alt>, ApiError> {
    Alt::parse(text).map_err(|rule| ApiError::invalid("alt", rule.0))
}

/// Names the kinds of metadata that were removed from the photo, if any.
pub(crate) fn set_removed_metadata_header(response: &mut Response, removed: Removed) -> Result<(), ApiError> {
    if !removed.is_empty() {
        let kinds = HeaderValue::try_from(removed.to_string()).map_err(|_| ApiError::internal())?;
        response.headers_mut().insert("x-removed-metadata", kinds);
    }
    Ok(())
}

/// The `Idempotency-Key` header.
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

impl FromRequestParts<Http> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Http) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let key = value.to_str().unwrap_or_default();
        if !(1..=255).contains(&key.len()) || !key.bytes().all(|b| b.is_ascii_graphic()) {
            let rule = "an Idempotency-Key has 1 to 255 visible ASCII characters";
            return Err(ApiError::invalid("Idempotency-Key", rule));
        }
        Ok(Self(Some(key.to_owned())))
    }
}

impl Argument for IdempotencyKey {
    fn describe(entry: &mut Entry) {
        let about = "Makes a retry safe: within 24 hours a request with the same key returns the post that the first \
            one created. 1 to 255 visible ASCII characters.";
        let key = string().min_length(Some(1)).max_length(Some(255)).pattern(Some("^[!-~]{1,255}$"));
        entry.parameter(parameter("Idempotency-Key", ParameterIn::Header, about, key));
    }
}

struct PhotoSink<'a> {
    app: &'a App,
    max: u64,
    spool: Option<Spool>,
    /// Whether it is the photo that is too large.
    over: bool,
    /// Trouble of our own, which is not the form's fault.
    failed: Option<app::Error>,
}

impl FileSink for PhotoSink<'_> {
    fn name(&self) -> &'static str {
        "photo"
    }

    fn begin(&mut self) -> bool {
        self.spool.is_none()
    }

    async fn write(&mut self, chunk: &[u8]) -> Result<(), FormError> {
        let written = self.append(chunk).await;
        match written {
            Ok(total) if total > self.max => {
                self.over = true;
                Err(FormError::TooLarge)
            }
            Ok(_) => Ok(()),
            Err(error) => {
                self.failed = Some(error);
                Err(FormError::Malformed("the photo could not be stored".into()))
            }
        }
    }
}

impl PhotoSink<'_> {
    async fn append(&mut self, chunk: &[u8]) -> Result<u64, app::Error> {
        let spool = match &mut self.spool {
            Some(spool) => spool,
            empty => empty.insert(self.app.spool().await?),
        };
        spool.write(chunk).await?;
        Ok(spool.written())
    }
}
