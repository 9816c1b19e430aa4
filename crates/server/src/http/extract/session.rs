//! The extractors that authenticate a request by its session cookie or bearer token.

use app::Caller;
use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;

use crate::http::error::ApiError;
use crate::http::middleware::request_log::set_user;
use crate::http::openapi::{Argument, Entry};
use crate::http::session_cookie::credential;
use crate::http::state::Http;

/// The caller of an operation that requires a session.
pub(crate) struct RequiredSession(pub(crate) Caller);

/// The caller of an operation that needs no session. A session that is invalid or expired counts as none.
pub(crate) struct OptionalSession(pub(crate) Option<Caller>);

impl FromRequestParts<Http> for RequiredSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        Self::of(http, &parts.headers).await
    }
}

impl FromRequestParts<Http> for OptionalSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        Self::of(http, &parts.headers).await
    }
}

impl Argument for RequiredSession {
    fn describe(entry: &mut Entry) {
        entry.session(false);
    }
}

impl Argument for OptionalSession {
    fn describe(entry: &mut Entry) {
        entry.session(true);
    }
}

impl RequiredSession {
    pub(crate) async fn of(http: &Http, headers: &HeaderMap) -> Result<Self, ApiError> {
        let OptionalSession(caller) = OptionalSession::of(http, headers).await?;
        caller.map(Self).ok_or_else(ApiError::unauthorized)
    }
}

impl OptionalSession {
    pub(crate) async fn of(http: &Http, headers: &HeaderMap) -> Result<Self, ApiError> {
        match credential(headers, http.session_cookie.name).and_then(|text| text.parse().ok()) {
            Some(token) => {
                let caller = http.app.authenticate(http.client(None), &token).await?;
                if let Some(caller) = &caller {
                    set_user(caller.user.id);
                }
                Ok(Self(caller))
            }
            None => Ok(Self(None)),
        }
    }
}

/// Reads the caller again, after a body that may have taken long to arrive. Fails if the session has ended.
pub(crate) async fn reauthenticate(http: &Http, caller: &mut Caller) -> Result<(), ApiError> {
    *caller = http.app.reauthenticate(caller).await?.ok_or_else(ApiError::unauthorized)?;
    Ok(())
}
