//! Accounts: join, login, logout, the current user.

use std::net::IpAddr;

use app::Client;
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
    /// 1 to 64 characters: ASCII letters, digits and `_ . - @ +`, but not `.` or `..`. Usernames are
    /// unique regardless of case.
    #[schema(example = "ada", min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9_.@+-]{1,64}$")]
    username: String,
    /// 8 to 256 bytes in UTF-8. A new password may be neither the username nor one of the 10,000 most common
    /// ones. The operator may set another minimum and allow common ones.
    #[schema(example = "correct horse", format = Password)]
    password: String,
}

impl FormSchema for Credentials {
    const TEXT: &'static [&'static str] = &["username", "password"];
}

/// The two operations that start a session.
#[derive(Clone, Copy)]
enum AuthOperation {
    Join,
    Login,
}

pub(crate) async fn join(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    start_session(&http, AuthOperation::Join, client, form).await
}

pub(crate) async fn login(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    start_session(&http, AuthOperation::Login, client, form).await
}

pub(crate) async fn logout(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<impl IntoResponse, ApiError> {
    http.app.logout(&caller).await?;
    Ok(([http.session_cookie.clear_cookie()], json(StatusCode::OK, &Empty {})))
}

pub(crate) async fn me(RequiredSession(caller): RequiredSession) -> Response {
    json(StatusCode::OK, &User::from(&*caller.user))
}

async fn start_session(
    http: &Http,
    operation: AuthOperation,
    client: IpAddr,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    let mut form = form.read(http).await?;
    let (username, password) = (form.required("username")?, form.required("password")?);
    let attempt = match operation {
        AuthOperation::Join => http.rate_limits.join(client, &http.clock)?,
        AuthOperation::Login => http.rate_limits.login(&username, client, &http.clock)?,
    };
    let anonymous = Client::anonymous(client);
    let (status, session) = match operation {
        AuthOperation::Join => (StatusCode::CREATED, http.app.join(anonymous, &username, password).await),
        AuthOperation::Login => (StatusCode::OK, http.app.login(anonymous, &username, password).await),
    };
    // A join counts towards its rate limit if it created an account, a login if the username or the password
    // was wrong; any other result is refunded when `attempt` is dropped.
    let counted = match (operation, &session) {
        (AuthOperation::Join, Ok(_)) | (AuthOperation::Login, Err(app::Error::WrongCredentials)) => {
            attempt.count()
        }
        _ => None,
    };
    let succeeded = || http.rate_limits.remember_network(&username, client);
    let publication = if session.is_ok() { succeeded() } else { counted };
    if let Some(publication) = publication {
        http.app.publish_login(publication).await;
    }
    let session = session?;
    let headers = http.session_cookie.set_cookie(&session.token);
    Ok((headers, json(status, &User::from(&session.user))).into_response())
}
