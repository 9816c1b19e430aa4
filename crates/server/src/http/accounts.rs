//! Joining, signing in and out, one's own profile.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use utoipa::ToSchema;

use super::auth::RequiredSession;
use super::error::Problem;
use super::form::{FormBody, FormSchema};
use super::wire::{Empty, User, json};
use super::{ClientAddress, Http};

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

pub(crate) async fn join(
    State(http): State<Http>,
    ClientAddress(from): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, Problem> {
    let (username, password) = credentials(&http, form).await?;
    let attempt = http.limits.join(from, http.clock.now())?;
    let _room = http.limits.hashing(from)?;
    let entrance = http.app.join(&username, password).await;
    // Only an account that was made counts.
    if entrance.is_err() {
        attempt.forgive();
    }
    Ok(let_in(&http, StatusCode::CREATED, entrance?))
}

pub(crate) async fn login(
    State(http): State<Http>,
    ClientAddress(from): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, Problem> {
    let (username, password) = credentials(&http, form).await?;
    let attempt = http.limits.login(&username, from, http.clock.now())?;
    let _room = http.limits.hashing(from)?;
    let entrance = http.app.login(&username, password).await;
    // Only a wrong guess counts against the guesser: not a right one, and not our own trouble.
    if !matches!(entrance, Err(app::Error::WrongCredentials)) {
        attempt.forgive();
    }
    Ok(let_in(&http, StatusCode::OK, entrance?))
}

pub(crate) async fn logout(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<impl IntoResponse, Problem> {
    http.app.logout(&caller).await?;
    Ok(([http.cookie.take_back()], json(StatusCode::OK, &Empty {})))
}

pub(crate) async fn me(RequiredSession(caller): RequiredSession) -> Response {
    json(StatusCode::OK, &User::from(&*caller.user))
}

async fn credentials(http: &Http, form: FormBody<Credentials>) -> Result<(String, String), Problem> {
    let mut form = form.read(http).await?;
    Ok((form.required("username")?, form.required("password")?))
}

fn let_in(http: &Http, status: StatusCode, entrance: app::Entrance) -> Response {
    let body = json(status, &User::from(&entrance.user));
    (http.cookie.hand_over(&entrance.token), body).into_response()
}
