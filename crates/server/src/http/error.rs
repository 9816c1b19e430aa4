//! The error responses of the API: the one place that maps an error to its status, code and message.
//!
//! A handler returns an [`ApiError`] as an extension of an empty response, and the middleware writes the
//! body. Errors of the router, of a rate limit and of a panic therefore look the same as those of a handler.

use std::borrow::Cow;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderName, HeaderValue, StatusCode};
use model::{Refusal, Status, ValidationError, words};

use crate::http::dto;
use crate::http::form::FormError;
use crate::http::middleware::limiter::RateLimited;

pub(crate) const ERROR_CODE: HeaderName = HeaderName::from_static("x-error-code");

/// The refusal, where the code alone does not tell.
pub(crate) const ERROR_REASON: HeaderName = HeaderName::from_static("x-error-reason");

/// Of resumable uploads.
pub(crate) const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
pub(crate) const UPLOAD_COMPLETE: HeaderName = HeaderName::from_static("upload-complete");

/// `Retry-After` of a full queue.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// `Retry-After` of an unavailable dependency: a restart takes a few seconds.
const UNAVAILABLE_RETRY_AFTER: Duration = Duration::from_secs(2);

/// `Retry-After` of a full disk: space is freed by users or the operator.
const NO_SPACE_RETRY_AFTER: Duration = Duration::from_secs(60);

words! {
    /// The stable code of an error response: `X-Error-Code`.
    ErrorCode, "an error code" {
        InvalidParameter = "invalid_parameter",
        WrongCredentials = "wrong_credentials",
        WrongPassword = "wrong_password",
        WrongRecoveryCode = "wrong_recovery_code",
        MalformedBody = "malformed_body",
        BadRequest = "bad_request",
        Unauthorized = "unauthorized",
        Forbidden = "forbidden",
        CrossSite = "cross_site",
        AccountSuspended = "account_suspended",
        AccountPending = "account_pending",
        RegistrationClosed = "registration_closed",
        InvitationRequired = "invitation_required",
        NotFound = "not_found",
        MethodNotAllowed = "method_not_allowed",
        Timeout = "timeout",
        Conflict = "conflict",
        UploadOffsetMismatch = "upload_offset_mismatch",
        IdempotencyKeyReused = "idempotency_key_reused",
        PayloadTooLarge = "payload_too_large",
        UnsupportedMediaType = "unsupported_media_type",
        QuotaExceeded = "quota_exceeded",
        RateLimited = "rate_limited",
        Internal = "internal",
        Unsupported = "unsupported",
        Busy = "busy",
        NotReady = "not_ready",
        Unavailable = "unavailable",
        NoSpace = "no_space",
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: ErrorCode,
    refusal: Option<(Refusal, Option<u64>)>,
    message: Cow<'static, str>,
    field: Option<&'static str>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    fn new(status: StatusCode, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, refusal: None, message: message.into(), field: None, headers: Vec::new() }
    }

    pub(crate) fn invalid(field: &'static str, rule: impl Into<ValidationError>) -> Self {
        Self::broken(StatusCode::BAD_REQUEST, ErrorCode::InvalidParameter, rule.into()).with_field(field)
    }

    fn broken(status: StatusCode, code: ErrorCode, rule: ValidationError) -> Self {
        let refusal = rule.refusal.map(|refusal| (refusal, rule.limit));
        Self { refusal, ..Self::new(status, code, rule.message) }
    }

    fn because(self, refusal: Refusal) -> Self {
        Self { refusal: Some((refusal, None)), ..self }
    }

    /// An invalid image size. It blames no field, since width and height are wrong together.
    pub(crate) fn bad_size(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParameter, message)
    }

    pub(crate) fn not_found(message: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
    }

    /// 501, as oEmbed wants it for a format that is not offered.
    pub(crate) fn unsupported(message: &'static str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, ErrorCode::Unsupported, message)
    }

    pub(crate) fn unauthorized() -> Self {
        let message =
            "no valid session: log in, then send the session cookie or `Authorization: Bearer <token>`";
        Self::new(StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, message)
            .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    pub(crate) fn unsupported_media_type(message: &'static str) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::UnsupportedMediaType, message)
    }

    /// The CSRF check rejected the request.
    pub(crate) fn cross_site() -> Self {
        let message = "request rejected: it comes from a page of another origin, which may not use the session \
            cookie, join or log in; authenticate with `Authorization: Bearer <token>` instead";
        Self::new(StatusCode::FORBIDDEN, ErrorCode::CrossSite, message)
    }

    pub(crate) fn invalid_host() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            ErrorCode::BadRequest,
            "the request must have exactly one Host header",
        )
    }

    pub(crate) fn busy() -> Self {
        let message = "the service is busy; try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Busy, message).retry_after(BUSY_RETRY_AFTER)
    }

    /// The connection was accepted beyond the limits, for health probes alone.
    pub(crate) fn too_many_connections() -> Self {
        let message = "too many connections are open; close some, or try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Busy, message).retry_after(BUSY_RETRY_AFTER)
    }

    /// A dependency is unavailable: the database or the blob store.
    fn unavailable() -> Self {
        let message = "the service cannot reach or write its storage right now; try again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable, message)
            .retry_after(UNAVAILABLE_RETRY_AFTER)
    }

    /// The disk is full, or too full for `what`.
    fn no_space(what: &str) -> Self {
        let message = format!(
            "no space left to store {what}; nothing was changed. Deleting works and frees space; try again later"
        );
        Self::new(StatusCode::INSUFFICIENT_STORAGE, ErrorCode::NoSpace, message)
            .retry_after(NO_SPACE_RETRY_AFTER)
    }

    /// The readiness probe failed.
    pub(crate) fn not_ready(cause: &app::Error) -> Self {
        let message = match cause {
            app::Error::NoSpace(..) => {
                "the service is not ready: no space left on the disk of its data folder; deleting still works"
            }
            app::Error::Damaged(_) => {
                "the service is not ready: its database is damaged; the operator finds the cause in the log"
            }
            _ => "the service is not ready: it cannot reach or write its storage right now; try again later",
        };
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::NotReady, message).retry_after(BUSY_RETRY_AFTER)
    }

    pub(crate) fn internal() -> Self {
        let message = "internal error; if it persists, report the request id to the operator";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal, message)
    }

    /// The error of a bare status, which the router or a library returned.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::not_found("there is nothing at this path"),
            StatusCode::METHOD_NOT_ALLOWED => Self::new(
                status,
                ErrorCode::MethodNotAllowed,
                "method not allowed for this path; the Allow header lists the methods that are",
            ),
            status if status.is_server_error() => Self { status, ..Self::internal() },
            status => Self::new(
                status,
                ErrorCode::BadRequest,
                status.canonical_reason().unwrap_or("the request was rejected"),
            ),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// The most exact word for what is wrong.
    pub(crate) fn word(&self) -> &'static str {
        self.refusal.map_or(self.code.as_str(), |(refusal, _)| refusal.as_str())
    }

    /// The parameter that was refused.
    pub(crate) fn field(&self) -> Option<&'static str> {
        self.field
    }

    /// An internal error: neither a client error nor one that a retry or another request resolves.
    pub(crate) fn is_failure(&self) -> bool {
        let expected =
            [StatusCode::SERVICE_UNAVAILABLE, StatusCode::INSUFFICIENT_STORAGE, StatusCode::NOT_IMPLEMENTED];
        self.status.is_server_error() && !expected.contains(&self.status)
    }

    /// The response with its JSON body. The message of a server error ends with the request id, under which
    /// the log has the cause.
    pub(crate) fn respond(&self, request_id: &str) -> Response {
        let message = if self.status.is_server_error() {
            format!("{} (request {request_id})", self.message)
        } else {
            self.message.clone().into_owned()
        };
        let field = self.field.map(str::to_owned);
        let body = dto::Error { error: dto::ErrorDetail { message: Some(message), field } };
        // Strings and options always serialize.
        let json = serde_json::to_vec(&body).unwrap_or_else(|_| br#"{"error":{}}"#.to_vec());
        let mut response = self.status.into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(json.len()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(ERROR_CODE, HeaderValue::from_static(self.code.as_str()));
        headers.extend(self.reason().map(|reason| (ERROR_REASON, reason)));
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        *response.body_mut() = json.into();
        response
    }

    /// A structured field (RFC 9651): a token, with the limit as its parameter.
    fn reason(&self) -> Option<HeaderValue> {
        let (refusal, limit) = self.refusal?;
        Some(limit.map_or(HeaderValue::from_static(refusal.as_str()), |limit| {
            HeaderValue::try_from(format!("{refusal};limit={limit}")).expect("words and numbers are ASCII")
        }))
    }

    fn with_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    fn retry_after(self, wait: Duration) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)))
    }
}

/// Rounded up, and at least one: a client that waits this long does not come too early.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs_f64().ceil().max(1.0) as u64
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<app::Error> for ApiError {
    fn from(error: app::Error) -> Self {
        match error {
            app::Error::Forbidden(refusal, message) => {
                Self::new(StatusCode::FORBIDDEN, ErrorCode::Forbidden, message).because(refusal)
            }
            app::Error::NotFound(message) => Self::not_found(message),
            app::Error::Invalid { field, rule } => Self::invalid(field, rule),
            app::Error::WrongCredentials => Self::new(
                StatusCode::BAD_REQUEST,
                ErrorCode::WrongCredentials,
                "the username or the password is wrong",
            ),
            app::Error::WrongPassword { field } => {
                Self::new(StatusCode::BAD_REQUEST, ErrorCode::WrongPassword, "the password is wrong")
                    .with_field(field)
            }
            app::Error::Unconfirmed(refusal) => {
                let message = match refusal {
                    Refusal::PasswordWrong => "the current_password is wrong",
                    _ => "this needs your password: send it as current_password",
                };
                Self::new(StatusCode::FORBIDDEN, ErrorCode::Forbidden, message)
                    .because(refusal)
                    .with_field("current_password")
            }
            app::Error::WrongRecoveryCode => Self::new(
                StatusCode::BAD_REQUEST,
                ErrorCode::WrongRecoveryCode,
                "the username or the recovery code is wrong, or the code has been used",
            ),
            app::Error::Inactive(Status::Pending) => Self::new(
                StatusCode::FORBIDDEN,
                ErrorCode::AccountPending,
                "your account waits for the approval of a moderator; until then you can only read",
            ),
            app::Error::Inactive(_) => Self::new(
                StatusCode::FORBIDDEN,
                ErrorCode::AccountSuspended,
                "your account is suspended, so you can only read and delete; GET /me/account says why",
            ),
            app::Error::SessionEnded => Self::unauthorized(),
            app::Error::RegistrationClosed => Self::new(
                StatusCode::FORBIDDEN,
                ErrorCode::RegistrationClosed,
                "this instance takes no new users",
            ),
            app::Error::InvitationRequired => Self::new(
                StatusCode::FORBIDDEN,
                ErrorCode::InvitationRequired,
                "joining this instance needs an invitation; send its code as invitation",
            ),
            app::Error::Quota { rule, retry_after: Some(wait) } => {
                Self::broken(StatusCode::TOO_MANY_REQUESTS, ErrorCode::QuotaExceeded, rule).retry_after(wait)
            }
            app::Error::Quota { rule, retry_after: None } => {
                Self::broken(StatusCode::INSUFFICIENT_STORAGE, ErrorCode::QuotaExceeded, rule)
                    .retry_after(NO_SPACE_RETRY_AFTER)
            }
            app::Error::TooMany(rule) => Self::broken(StatusCode::CONFLICT, ErrorCode::Conflict, rule),
            app::Error::Conflict { field, refusal, message } => {
                let error = Self::new(StatusCode::CONFLICT, ErrorCode::Conflict, message).because(refusal);
                field.map_or(error.clone(), |field| error.with_field(field))
            }
            app::Error::KeyReused(post) => {
                let message = format!(
                    "this Idempotency-Key was used for another request, which created post {post}; send that \
                     request again, or use a new key for a new post"
                );
                let error =
                    Self::new(StatusCode::UNPROCESSABLE_ENTITY, ErrorCode::IdempotencyKeyReused, message)
                        .with_field("Idempotency-Key");
                match HeaderValue::try_from(format!("/posts/{post}")) {
                    Ok(location) => error.with_header(LOCATION, location),
                    Err(_) => error,
                }
            }
            app::Error::OffsetMismatch { received } => {
                let message = format!("the upload has received {received} bytes; send the rest from there");
                Self::new(StatusCode::CONFLICT, ErrorCode::UploadOffsetMismatch, message)
                    .with_header(UPLOAD_OFFSET, HeaderValue::from(received))
                    .with_header(UPLOAD_COMPLETE, HeaderValue::from_static("?0"))
            }
            app::Error::Busy(resource) => {
                tracing::warn!(resource, "resource busy; request rejected");
                Self::busy()
            }
            app::Error::TimedOut(threads) => {
                tracing::warn!(threads, "job timed out; request rejected");
                Self::busy()
            }
            app::Error::Unavailable(part, cause) => {
                tracing::error!(part, %cause, "dependency unavailable; request rejected");
                Self::unavailable()
            }
            app::Error::NoSpace(what, cause) => {
                tracing::error!(what, %cause, "no space left; request rejected");
                Self::no_space(what)
            }
            error @ app::Error::Damaged(_) => {
                tracing::error!(cause = %error, "request failed");
                Self::internal()
            }
            app::Error::OriginalDamaged => Self {
                message:
                    "the original of this photo is damaged, its images are not; the operator can copy the \
                    file from a backup, the author can post the photo again"
                        .into(),
                ..Self::internal().because(Refusal::OriginalDamaged)
            },
            app::Error::Internal(cause) => {
                tracing::error!(%cause, "request failed");
                Self::internal()
            }
        }
    }
}

impl From<FormError> for ApiError {
    fn from(error: FormError) -> Self {
        match error {
            FormError::InvalidParameter(field, rule) => Self::invalid(field, rule),
            FormError::Malformed(message) => {
                Self::new(StatusCode::BAD_REQUEST, ErrorCode::MalformedBody, message)
            }
            FormError::TooLarge => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                ErrorCode::PayloadTooLarge,
                "the request body is too large for this operation; send large photos as multipart/form-data",
            ),
            FormError::Busy => Self::busy().with_header(CONNECTION, HeaderValue::from_static("close")),
            FormError::Timeout => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                ErrorCode::Timeout,
                "the request body did not arrive in time; send it again",
            )
            .with_header(CONNECTION, HeaderValue::from_static("close")),
            FormError::UnsupportedMediaType => Self::unsupported_media_type(
                "unsupported Content-Type: send application/x-www-form-urlencoded or multipart/form-data",
            ),
        }
    }
}

impl From<RateLimited> for ApiError {
    fn from(limited: RateLimited) -> Self {
        let wait = limited.retry_after();
        let message = format!("rate limit exceeded; retry after {} s", whole_seconds(wait));
        let mut error =
            Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited, message).retry_after(wait);
        error.headers.extend(limited.headers());
        error
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn a_server_error_says_what_is_wrong_and_hides_its_cause() {
        let unavailable = app::Error::Unavailable("the database", "a secret cause".into());
        let no_space = app::Error::NoSpace("photos", "a secret cause".into());
        for (error, message) in [
            (app::Error::Busy("hash").into(), "the service is busy; try again in a moment"),
            (
                unavailable.clone().into(),
                "the service cannot reach or write its storage right now; try again later",
            ),
            (
                ApiError::not_ready(&unavailable),
                "the service is not ready: it cannot reach or write its storage right now; try again later",
            ),
            (
                ApiError::not_ready(&no_space),
                "the service is not ready: no space left on the disk of its data folder; deleting still works",
            ),
            (
                no_space.into(),
                "no space left to store photos; nothing was changed. Deleting works and frees space; try again later",
            ),
            (ApiError::internal(), "internal error; if it persists, report the request id to the operator"),
        ] {
            let body = error.respond("abc-1").into_body().collect().await.unwrap().to_bytes();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["error"]["message"], format!("{message} (request abc-1)"));
        }
    }
}
