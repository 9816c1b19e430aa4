//! Joining, signing in and out, one's own profile.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use utoipa::ToSchema;

use super::auth::SignedIn;
use super::error::Problem;
use super::wire::{Empty, User, json};
use super::{ClientAddress, Http};

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form; it is read by form.rs")]
pub(crate) struct Credentials {
    /// 1 to 64 of the letters a to z, digits and `_ . - @ +`.
    #[schema(example = "ada", min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9_.@+-]{1,64}$")]
    username: String,
    /// 6 to 256 bytes, unless the operator asks for more.
    #[schema(example = "correct horse", min_length = 6, max_length = 256)]
    password: String,
}

/// Create an account
///
/// Starts a session at once: the answer carries it as a cookie and as `X-Auth-Token`.
#[utoipa::path(
    post, path = "/join/username", tag = "accounts", operation_id = "join",
    request_body(content(
        (Credentials = "application/x-www-form-urlencoded"),
        (Credentials = "multipart/form-data"),
    )),
    responses((status = 201, description = "The new user, signed in", body = User, headers(
        ("X-Auth-Token" = String, description = "Send it back as `Authorization: Bearer …`"),
        ("Set-Cookie" = String, description = "The same session for browsers"),
    ))),
    security(()),
)]
pub(crate) async fn join(
    State(http): State<Http>,
    ClientAddress(from): ClientAddress,
    request: Request,
) -> Result<Response, Problem> {
    let (username, password) = credentials(&http, request).await?;
    let attempt = http.limits.join(from, http.clock.now())?;
    let _room = http.limits.hashing(from)?;
    let entrance = http.app.join(&username, password).await;
    // Only an account that was made counts.
    if entrance.is_err() {
        attempt.forgive();
    }
    Ok(let_in(&http, StatusCode::CREATED, entrance?))
}

/// Sign in
///
/// Starts a new session; sessions on other devices go on.
#[utoipa::path(
    post, path = "/login/username", tag = "accounts", operation_id = "login",
    request_body(content(
        (Credentials = "application/x-www-form-urlencoded"),
        (Credentials = "multipart/form-data"),
    )),
    responses((status = 200, description = "The user, signed in", body = User, headers(
        ("X-Auth-Token" = String, description = "Send it back as `Authorization: Bearer …`"),
        ("Set-Cookie" = String, description = "The same session for browsers"),
    ))),
    security(()),
)]
pub(crate) async fn login(
    State(http): State<Http>,
    ClientAddress(from): ClientAddress,
    request: Request,
) -> Result<Response, Problem> {
    let (username, password) = credentials(&http, request).await?;
    let attempt = http.limits.login(&username, from, http.clock.now())?;
    let _room = http.limits.hashing(from)?;
    let entrance = http.app.login(&username, password).await;
    // Only a wrong guess counts against the guesser: not a right one, and not our own trouble.
    if !matches!(entrance, Err(app::Error::WrongCredentials)) {
        attempt.forgive();
    }
    Ok(let_in(&http, StatusCode::OK, entrance?))
}

/// Sign out
///
/// Ends the session the request came with, and only that one.
#[utoipa::path(
    post, path = "/logout", tag = "accounts", operation_id = "logout",
    responses((status = 200, description = "The session has ended", body = Empty)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn logout(
    State(http): State<Http>,
    SignedIn(caller): SignedIn,
) -> Result<impl IntoResponse, Problem> {
    http.app.logout(&caller).await?;
    Ok(([http.cookie.take_back()], json(StatusCode::OK, &Empty {})))
}

/// Read one's own profile
#[utoipa::path(
    get, path = "/me", tag = "accounts", operation_id = "me",
    responses((status = 200, description = "The caller", body = User)),
    security(("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn me(SignedIn(caller): SignedIn) -> Response {
    json(StatusCode::OK, &User::from(&*caller.user))
}

async fn credentials(http: &Http, request: Request<Body>) -> Result<(String, String), Problem> {
    let (parts, body) = request.into_parts();
    let mut form = http.form(&parts.headers, body, &["username", "password"]).await?;
    Ok((form.required("username")?, form.required("password")?))
}

fn let_in(http: &Http, status: StatusCode, entrance: app::Entrance) -> Response {
    let body = json(status, &User::from(&entrance.user));
    (http.cookie.hand_over(&entrance.token), body).into_response()
}
