//! Accounts: join, login, recovery, logout, the current user.

use std::net::IpAddr;

use app::{Client, Join, NewLogin, Removal, SessionClient};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::USER_AGENT;
use http::{HeaderMap, StatusCode};
use model::{PostId, Reason, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dto::{AsDisplay, Empty, User};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::{Password, SentUsername, form};
use crate::http::handlers::instance::QuotaDto;
use crate::http::handlers::security::{Confirmation, counted};
use crate::http::json::json;
use crate::http::middleware::rate_limit::Attempt;
use crate::http::middleware::request_log::set_user;
use crate::http::state::Http;

form! {
    /// A username and a password.
    pub(crate) struct Credentials {
        /// 1 to 64 characters: ASCII letters, digits and `_ . - @ +`, but not `.` or `..`. Usernames are
        /// unique regardless of case.
        username: SentUsername = "ada",
        /// The password.
        password: Password = "correct horse",
    }
}

form! {
    /// A new account.
    pub(crate) struct NewAccount {
        /// 1 to 64 characters: ASCII letters, digits and `_ . - @ +`, but not `.` or `..`. Usernames are
        /// unique regardless of case.
        username: SentUsername = "ada",
        /// 8 to 256 bytes in UTF-8. It may be neither the username nor one of the 10,000 most common
        /// passwords. The operator may set another minimum and allow common ones.
        password: Password = "correct horse",
        /// The code of an invitation, where joining needs one.
        invitation: Option<String> = "abcd-efgh-ijkm-npqr",
        /// `accepted`, where the instance has terms.
        terms: Option<String> = "accepted",
    }
}

form! {
    /// A recovery code, and the password to set with it.
    pub(crate) struct Recovery {
        /// The username, in any case.
        username: SentUsername = "ada",
        /// One of the user's recovery codes. Case, dashes and spaces do not matter.
        code: String = "abcd-efgh-ijkm-npqr",
        /// The new password, by the same rules as that of a new account.
        password: Password = "correct horse",
    }
}

pub(crate) async fn join(
    State(http): State<Http>,
    ClientAddress(client): ClientAddress,
    form: FormBody<NewAccount>,
) -> Result<Response, ApiError> {
    let from = session_client(client, &form.headers);
    let form = form.read_without_session(&http).await?;
    let (SentUsername(username), Password(password)) = (form.username, form.password);
    let invitation = form.invitation.filter(|code| !code.trim().is_empty());
    let accepts_terms = form.terms.as_deref() == Some("accepted");
    let attempt = http.rate_limits.join(client, &http.clock)?;
    let join = Join { username: username.clone(), password, invitation, accepts_terms };
    let joined = http.app.join(&from, join).await;
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
    let form = form.read_without_session(&http).await?;
    let (SentUsername(username), Password(password)) = (form.username, form.password);
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
    let form = form.read_without_session(&http).await?;
    let (SentUsername(username), Password(password)) = (form.username, form.password);
    let attempt = http.rate_limits.login(&username, client, &http.clock)?;
    let login = http.app.recover(&from, &username, &form.code, password).await;
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

/// The role, the status and the quotas of the current user.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
pub(crate) struct AccountDto<'a> {
    /// `member`, `moderator` or `owner`.
    #[schema(example = "member")]
    role: &'static str,
    /// `active`; `pending` while a moderator has to approve the account; `suspended`; or `hidden`: suspended,
    /// and the profile and its posts are not shown.
    #[schema(example = "active")]
    status: &'static str,
    /// Why the account is suspended; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Spam", nullable = false)]
    reason: Option<&'a str>,
    /// The user's posts that moderators have hidden, the newest hundred.
    hidden_posts: Vec<HiddenPost<'a>>,
    /// What moderators have removed, the newest 20 first.
    removals: Vec<RemovalDto<'a>>,
    /// What the user may store and do.
    quota: QuotaDto,
    /// How much of it is used.
    usage: UsageDto,
}

/// A post or a profile photo that a moderator has removed.
#[derive(Serialize, ToSchema)]
#[schema(as = Removal)]
pub(crate) struct RemovalDto<'a> {
    /// The id of the post; absent for a profile photo.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 12, nullable = false)]
    post_id: Option<i64>,
    /// Why; absent if no reason was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Advertising", nullable = false)]
    reason: Option<&'a str>,
    /// When it was removed, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000")]
    removed_at: AsDisplay<Timestamp>,
}

impl<'a> From<&'a Removal> for RemovalDto<'a> {
    fn from(removal: &'a Removal) -> Self {
        let Removal { post, reason, removed_at } = removal;
        Self {
            post_id: post.map(|post| post.0),
            reason: reason.as_deref(),
            removed_at: AsDisplay(*removed_at),
        }
    }
}

/// A post that a moderator has hidden.
#[derive(Serialize, ToSchema)]
pub(crate) struct HiddenPost<'a> {
    /// The id of the post.
    #[schema(example = 42)]
    id: i64,
    /// Why.
    #[schema(example = "Spam")]
    reason: &'a str,
}

impl<'a> From<&'a (PostId, Reason)> for HiddenPost<'a> {
    fn from((id, reason): &'a (PostId, Reason)) -> Self {
        Self { id: id.0, reason: reason.as_str() }
    }
}

/// What a user has stored and done.
#[derive(Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageDto {
    /// The size of the user's photos and of what has arrived of unfinished uploads, in bytes.
    #[schema(example = 123_456_789)]
    bytes: u64,
    /// The photos posted in the last 24 hours, deleted ones included.
    #[schema(example = 3)]
    posts_today: u64,
}

pub(crate) async fn account(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    let account = http.app.account(&caller).await?;
    let dto = AccountDto {
        role: caller.role.as_str(),
        status: account.status.as_str(),
        reason: account.status_reason.as_ref().map(Reason::as_str),
        hidden_posts: account.hidden_posts.iter().map(HiddenPost::from).collect(),
        removals: account.removals.iter().map(RemovalDto::from).collect(),
        quota: account.quota.into(),
        usage: UsageDto { bytes: account.usage.bytes, posts_today: account.usage.posts_today },
    };
    Ok(json(StatusCode::OK, &dto))
}

pub(crate) async fn leave(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    form: FormBody<Confirmation>,
) -> Result<Response, ApiError> {
    let Password(password) = form.read(&http, &mut caller).await?.password;
    let client = Client::anonymous(address).with_user(caller.user.id);
    counted(&http, &caller, address, http.app.leave(client, &caller, password)).await?;
    Ok(([http.session_cookie.clear_cookie()], json(StatusCode::OK, &Empty {})).into_response())
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
        set_user(login.user.id);
        let headers = http.session_cookie.set_cookie(&login.token);
        Ok((headers, json(status, &User::from(&login.user))).into_response())
    }
}
