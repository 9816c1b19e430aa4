//! The password, the sessions and the recovery codes of the current user.

use std::net::IpAddr;

use app::{Actor, Caller, Client, SessionInfo};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{RecoveryCode, Refusal, Role, SessionId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dto::{AsDisplay, Empty};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::path::PathId;
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::{OwnerPassword, Password, form};
use crate::http::json::json;
use crate::http::state::Http;

form! {
    /// A new password, confirmed with the current one.
    pub(crate) struct PasswordChange {
        /// The current password.
        current_password: Password = "correct horse",
        /// The new password, by the same rules as that of a new account.
        password: Password = "battery staple",
    }
}

form! {
    /// The current password, as a confirmation.
    pub(crate) struct Confirmation {
        /// The current password.
        password: Password = "correct horse",
    }
}

/// A session of the current user.
#[derive(Serialize, ToSchema)]
pub(crate) struct Session {
    /// The session's id.
    #[schema(value_type = String, example = "3f1e6c0d2b487e2a", pattern = "^[0-9a-f]{16}$")]
    id: AsDisplay<SessionId>,
    /// When it was started, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    created_at: AsDisplay<Timestamp>,
    /// When it was last used, in UTC; exact to the hour.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000",
        pattern = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+0000$")]
    last_used_at: AsDisplay<Timestamp>,
    /// The client that started it, by its `User-Agent`; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Firefox on Windows", nullable = false)]
    client: Option<String>,
    /// The network that it was started from: an address without its last part; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "203.0.113.0/24", nullable = false)]
    network: Option<String>,
    /// Whether it is the session of this request.
    is_current: bool,
}

/// The sessions of the current user.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionList {
    /// All of them, the last used one first.
    data: Vec<Session>,
}

/// New recovery codes.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecoveryCodes {
    /// The codes, which are not shown again. Using one ends the others.
    #[schema(min_items = 10, max_items = 10, example = json!([
        "abcd-efgh-ijkm-npqr", "bcde-fghi-jkmn-pqrs", "cdef-ghij-kmnp-qrst", "defg-hijk-mnpq-rstu",
        "efgh-ijkm-npqr-stuv", "fghi-jkmn-pqrs-tuvw", "ghij-kmnp-qrst-uvwx", "hijk-mnpq-rstu-vwxy",
        "ijkm-npqr-stuv-wxyz", "jkmn-pqrs-tuvw-xyz2"
    ]))]
    codes: Vec<String>,
}

/// What is left of the recovery codes.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecoveryCodeCount {
    /// The number of codes that have not been used.
    #[schema(example = 10, minimum = 0)]
    remaining: u64,
}

impl From<SessionInfo> for Session {
    fn from(session: SessionInfo) -> Self {
        let SessionInfo { id, created_at, last_used_at, client, network, is_current } = session;
        let (created_at, last_used_at) = (AsDisplay(created_at), AsDisplay(last_used_at));
        Self { id: AsDisplay(id), created_at, last_used_at, client, network, is_current }
    }
}

pub(crate) async fn change_password(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    form: FormBody<PasswordChange>,
) -> Result<Response, ApiError> {
    let form = form.read(&http, &mut caller).await?;
    let (Password(current), Password(password)) = (form.current_password, form.password);
    let client = Client::anonymous(address).with_user(caller.user.id);
    let change = http.app.change_password(client, &caller, current, password);
    counted(&http, &caller, address, change).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn sessions(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    let sessions = http.app.sessions(&caller).await?;
    Ok(json(StatusCode::OK, &SessionList { data: sessions.into_iter().map(Session::from).collect() }))
}

pub(crate) async fn end_session(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(id): PathId<SessionId>,
) -> Result<Response, ApiError> {
    http.app.end_session(&caller, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn end_other_sessions(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    http.app.end_other_sessions(&caller).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn new_recovery_codes(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    form: FormBody<Confirmation>,
) -> Result<Response, ApiError> {
    let Password(password) = form.read(&http, &mut caller).await?.password;
    let client = Client::anonymous(address).with_user(caller.user.id);
    let new = http.app.new_recovery_codes(client, &caller, password);
    let codes = counted(&http, &caller, address, new).await?;
    Ok(json(StatusCode::CREATED, &RecoveryCodes { codes: codes.iter().map(RecoveryCode::reveal).collect() }))
}

pub(crate) async fn recovery_codes(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
) -> Result<Response, ApiError> {
    let remaining = http.app.recovery_codes(&caller).await?;
    Ok(json(StatusCode::OK, &RecoveryCodeCount { remaining }))
}

/// The caller as an owner, confirmed if they have sent their password.
pub(crate) async fn owner(
    http: &Http,
    caller: &Caller,
    address: IpAddr,
    OwnerPassword(password): OwnerPassword,
) -> Result<Actor, ApiError> {
    let actor = Actor::new(caller, address, Role::Owner)?;
    let Some(password) = password else { return Ok(actor) };
    let client = Client::anonymous(address).with_user(caller.user.id);
    counted(http, caller, address, http.app.confirm(client, caller, actor, password)).await
}

/// Limits wrong passwords, on all nodes: a stolen session must not allow to guess the password.
pub(crate) async fn counted<T>(
    http: &Http,
    caller: &Caller,
    address: IpAddr,
    operation: impl Future<Output = Result<T, app::Error>>,
) -> Result<T, ApiError> {
    let attempt = http.rate_limits.confirmation(caller.user.username.as_str(), address, &http.clock)?;
    let outcome = operation.await;
    let is_wrong = |error: &app::Error| {
        matches!(error, app::Error::WrongPassword { .. } | app::Error::Unconfirmed(Refusal::PasswordWrong))
    };
    if outcome.as_ref().is_err_and(is_wrong)
        && let Some(failed) = attempt.count()
    {
        http.app.publish_login(failed).await;
    }
    Ok(outcome?)
}
