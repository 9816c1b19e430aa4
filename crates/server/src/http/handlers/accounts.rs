//! Accounts: join, login, logout, the current user.

use std::net::IpAddr;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use utoipa::ToSchema;

use crate::http::dto::{Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::session::RequiredSession;
use crate::http::json::json;
use crate::http::state::Http;

/// A username and a password.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct Credentials {
    /// 1 to 64 of the letters a to z, digits and `_ . - @ +`.
    #[schema(example = "ada", min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9_.@+-]{1,64}$")]
    username: String,
    /// 6 to 256 bytes of UTF-8, which may be fewer characters; an operator may set another minimum.
    #[schema(example = "correct horse", format = Password)]
    password: String,
}

impl FormSchema for Credentials {
    const TEXT: &'static [&'static str] = &["username", "password"];
}

/// The two ways to a new session.
#[derive(Clone, Copy)]
enum Entry {
    Join,
    Login,
}

pub(crate) async fn join(
    State(http): State<Http>,
    ClientAddress(from): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    start_session(&http, Entry::Join, from, form).await
}

pub(crate) async fn login(
    State(http): State<Http>,
    ClientAddress(from): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    start_session(&http, Entry::Login, from, form).await
}

pub(crate) async fn logout(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<impl IntoResponse, ApiError> {
    http.app.logout(&caller).await?;
    Ok(([http.cookie.clear_cookie()], json(StatusCode::OK, &Empty {})))
}

pub(crate) async fn me(RequiredSession(caller): RequiredSession) -> Response {
    json(StatusCode::OK, &User::from(&*caller.user))
}

async fn start_session(
    http: &Http,
    entry: Entry,
    from: IpAddr,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    let mut form = form.read(http).await?;
    let (username, password) = (form.required("username")?, form.required("password")?);
    let now = http.clock.now();
    let attempt = match entry {
        Entry::Join => http.limits.join(from, now)?,
        Entry::Login => http.limits.login(&username, from, now)?,
    };
    let _permit = http.limits.hashing(from)?;
    let (status, session) = match entry {
        Entry::Join => (StatusCode::CREATED, http.app.join(&username, password).await),
        Entry::Login => (StatusCode::OK, http.app.login(&username, password).await),
    };
    // An attempt counts where it created an account or guessed a wrong password; internal errors do not.
    let counts = match entry {
        Entry::Join => session.is_ok(),
        Entry::Login => matches!(session, Err(app::Error::WrongCredentials)),
    };
    if !counts {
        attempt.refund();
    }
    let session = session?;
    Ok((http.cookie.set_cookie(&session.token), json(status, &User::from(&session.user))).into_response())
}
