//! Accounts: join, login, recovery, logout, the current user.

use std::net::IpAddr;

use app::{NewLogin, SessionClient};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::USER_AGENT;
use http::{HeaderMap, StatusCode};
use utoipa::ToSchema;

use crate::http::dto::{Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::session::RequiredSession;
use crate::http::json::json;
use crate::http::middleware::rate_limit::Attempt;
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

/// A recovery code, and the password to set with it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct Recovery {
    /// The username, in any case.
    #[schema(example = "ada", min_length = 1, max_length = 64)]
    username: String,
    /// One of the user's recovery codes. Case, dashes and spaces do not matter.
    #[schema(example = "abcd-efgh-ijkm-npqr")]
    code: String,
    /// The new password, by the same rules as that of a new account.
    #[schema(example = "correct horse", format = Password)]
    password: String,
}

impl FormSchema for Recovery {
    const TEXT: &'static [&'static str] = &["username", "code", "password"];
}

pub(crate) async fn join(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    let from = session_client(client, &form.headers);
    let mut form = form.read(&http).await?;
    let (username, password) = (form.required("username")?, form.required("password")?);
    let attempt = http.rate_limits.join(client, &http.clock)?;
    let joined = http.app.join(&from, &username, password).await;
    // A join counts towards its rate limit if it created an account.
    let is_counted = joined.is_ok();
    let started = Started { username: &username, client, login: joined };
    started.respond(&http, StatusCode::CREATED, attempt, is_counted).await
}

pub(crate) async fn login(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    form: FormBody<Credentials>,
) -> Result<Response, ApiError> {
    let from = session_client(client, &form.headers);
    let mut form = form.read(&http).await?;
    let (username, password) = (form.required("username")?, form.required("password")?);
    let attempt = http.rate_limits.login(&username, client, &http.clock)?;
    let login = http.app.login(&from, &username, password).await;
    let is_counted = matches!(login, Err(app::Error::WrongCredentials));
    Started { username: &username, client, login }.respond(&http, StatusCode::OK, attempt, is_counted).await
}

pub(crate) async fn recover(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    form: FormBody<Recovery>,
) -> Result<Response, ApiError> {
    let from = session_client(client, &form.headers);
    let mut form = form.read(&http).await?;
    let (username, code) = (form.required("username")?, form.required("code")?);
    let password = form.required("password")?;
    let attempt = http.rate_limits.login(&username, client, &http.clock)?;
    let login = http.app.recover(&from, &username, &code, password).await;
    let is_counted = matches!(login, Err(app::Error::WrongRecoveryCode));
    Started { username: &username, client, login }.respond(&http, StatusCode::OK, attempt, is_counted).await
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

fn session_client(address: IpAddr, headers: &HeaderMap) -> SessionClient {
    SessionClient::new(address, headers.get(USER_AGENT).and_then(|value| value.to_str().ok()))
}

/// The outcome of an operation that starts a session.
struct Started<'a> {
    username: &'a str,
    client: IpAddr,
    login: Result<NewLogin, app::Error>,
}

impl Started<'_> {
    /// Counts the attempt towards its rate limit, or refunds it; all nodes are told of a login that succeeded
    /// and of a failed one that counts.
    async fn respond(
        self,
        http: &Http,
        status: StatusCode,
        attempt: Attempt<'_>,
        is_counted: bool,
    ) -> Result<Response, ApiError> {
        let counted = if is_counted { attempt.count() } else { None };
        let succeeded = || http.rate_limits.remember_network(self.username, self.client);
        let publication = if self.login.is_ok() { succeeded() } else { counted };
        if let Some(publication) = publication {
            http.app.publish_login(publication).await;
        }
        let login = self.login?;
        let headers = http.session_cookie.set_cookie(&login.token);
        Ok((headers, json(status, &User::from(&login.user))).into_response())
    }
}
