//! Every error a client can see: the one place where a kind of error gets its status and its message.
//!
//! A [`ApiError`] travels as an extension of an empty response. The outermost layer writes the body, so
//! that errors made by the router, a limit or a panic look exactly like our own.

use std::borrow::Cow;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::http::dto;
use crate::http::form::FormError;
use crate::http::middleware::rate_limit::RateLimited;

pub(crate) const ERROR_CODE: HeaderName = HeaderName::from_static("x-error-code");

/// How long a client should wait when a queue was full.
const BUSY_FOR: Duration = Duration::from_secs(1);

/// How long a client should wait for an unavailable dependency: a restart takes a few seconds.
const UNAVAILABLE_FOR: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: Cow<'static, str>,
    field: Option<&'static str>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), field: None, headers: Vec::new() }
    }

    pub(crate) fn invalid(field: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", message).with_field(field)
    }

    /// Without a field: width and height are wrong together.
    pub(crate) fn bad_size(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", message)
    }

    pub(crate) fn not_found(message: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn unauthorized() -> Self {
        let message =
            "this needs a session: send the cookie or the Authorization header of one that is still valid";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    pub(crate) fn cross_site() -> Self {
        let message = "a page of another site may not act in your name here";
        Self::new(StatusCode::FORBIDDEN, "cross_site", message)
    }

    pub(crate) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "").retry_after(BUSY_FOR)
    }

    /// A dependency is unavailable.
    fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "").retry_after(UNAVAILABLE_FOR)
    }

    pub(crate) fn not_ready() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "").retry_after(BUSY_FOR)
    }

    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "")
    }

    /// The error of a bare status, which the router or a library returned.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::not_found("there is nothing at this address"),
            StatusCode::METHOD_NOT_ALLOWED => Self::new(
                status,
                "method_not_allowed",
                "this address does not know that method; the Allow header lists those it knows",
            ),
            status if status.is_server_error() => Self { status, ..Self::internal() },
            status => Self::new(
                status,
                "bad_request",
                status.canonical_reason().unwrap_or("the request was refused"),
            ),
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// An internal error, unlike a mistake of the client or a full queue.
    pub(crate) fn is_failure(&self) -> bool {
        self.status.is_server_error() && self.status != StatusCode::SERVICE_UNAVAILABLE
    }

    /// The finished response. A server error tells its request id instead of its cause.
    pub(crate) fn respond(&self, request_id: &str) -> Response {
        let message = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                Cow::from(format!("the service is busy; try again in a moment (request {request_id})"))
            }
            status if status.is_server_error() => Cow::from(format!(
                "something went wrong on our side; tell the operator the request id {request_id}"
            )),
            _ => self.message.clone(),
        };
        let field = self.field.map(str::to_owned);
        let body = dto::Error { error: dto::ErrorDetail { message: Some(message.into_owned()), field } };
        // Strings and options always serialise.
        let json = serde_json::to_vec(&body).unwrap_or_else(|_| br#"{"error":{}}"#.to_vec());
        let mut response = self.status.into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(json.len()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(ERROR_CODE, HeaderValue::from_static(self.code));
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        *response.body_mut() = json.into();
        response
    }

    fn with_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
        self.with(RETRY_AFTER, HeaderValue::from(seconds))
    }
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
            app::Error::Forbidden(message) => Self::new(StatusCode::FORBIDDEN, "forbidden", message),
            app::Error::NotFound(message) => Self::not_found(message),
            app::Error::Invalid { field, message } => Self::invalid(field, message),
            app::Error::WrongCredentials => Self::new(
                StatusCode::BAD_REQUEST,
                "wrong_credentials",
                "the username or the password is wrong",
            ),
            app::Error::Conflict { field, message } => {
                let error = Self::new(StatusCode::CONFLICT, "conflict", message);
                field.map_or(error.clone(), |field| error.with_field(field))
            }
            app::Error::Busy(queue) => {
                tracing::warn!(queue, "queue full; request rejected");
                Self::busy()
            }
            app::Error::Overdue(threads) => {
                tracing::warn!(threads, "job timed out; request rejected");
                Self::busy()
            }
            app::Error::Unavailable(part, cause) => {
                tracing::error!(part, %cause, "a dependency is unavailable; request rejected");
                Self::unavailable()
            }
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
            FormError::InvalidParameter(field, message) => Self::invalid(field, message),
            FormError::Malformed(what) => Self::new(StatusCode::BAD_REQUEST, "malformed_body", what),
            FormError::TooLarge => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "payload_too_large",
                "the body is too large for this operation; send large photos as multipart/form-data",
            ),
            FormError::Timeout => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                "the body did not arrive in time; send it again over a better connection",
            )
            .with(CONNECTION, HeaderValue::from_static("close")),
            FormError::UnsupportedMediaType => Self::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "send parameters as application/x-www-form-urlencoded or multipart/form-data",
            ),
        }
    }
}

impl From<RateLimited> for ApiError {
    fn from(exceeded: RateLimited) -> Self {
        let mut error = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "that was too often; wait as long as the Retry-After header says",
        )
        .retry_after(exceeded.retry_after());
        error.headers.extend(exceeded.headers());
        error
    }
}
