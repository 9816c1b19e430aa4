//! What moderators and owners do: users, posts, the audit log.

use std::net::IpAddr;

use app::{Actor, AuditRow, Caller, UserRecord};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{PostId, Reason, Role, Status, Timestamp, Username};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::ParameterIn;

use crate::http::dto::{AsDisplay, Empty, Paging, User};
use crate::http::error::ApiError;
use crate::http::extract::base_url::BaseUrl;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::paging::PageHead;
use crate::http::extract::path::PathId;
use crate::http::extract::session::RequiredSession;
use crate::http::handlers::actor::actor;
use crate::http::handlers::feed::{self, FeedQuery};
use crate::http::handlers::reports::{ReasonForm, required_reason};
use crate::http::json::json;
use crate::http::openapi::{Entry, parameter, string};
use crate::http::state::Http;
use crate::links;

/// A suspension.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct Suspension {
    /// Why; the user sees it. Up to 1,000 characters.
    #[schema(example = "Spam", min_length = 1, max_length = 1000)]
    reason: String,
    /// Whether the profile and its posts are hidden as well; `false` by default.
    #[schema(example = "true", pattern = "^(true|false)$", nullable = false)]
    hide_posts: Option<String>,
}

impl FormSchema for Suspension {
    const TEXT: &'static [&'static str] = &["reason", "hide_posts"];
}

/// A role.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct RoleForm {
    /// `member`, `moderator` or `owner`.
    #[schema(example = "moderator", pattern = "^(member|moderator|owner)$")]
    role: String,
}

impl FormSchema for RoleForm {
    const TEXT: &'static [&'static str] = &["role"];
}

/// A user as moderators see them.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModeratedUser<'a> {
    /// The user.
    user: User<'a>,
    /// `member`, `moderator` or `owner`.
    #[schema(example = "member")]
    role: &'static str,
    /// `active`, `pending`, `suspended` or `hidden`: suspended, with the posts hidden.
    #[schema(example = "active")]
    status: &'static str,
}

/// A user as moderators see them, with counts.
#[derive(Serialize, ToSchema)]
#[schema(as = UserRecord)]
pub(crate) struct UserRecordDto<'a> {
    /// The user.
    user: User<'a>,
    /// `member`, `moderator` or `owner`.
    #[schema(example = "member")]
    role: &'static str,
    /// `active`, `pending`, `suspended` or `hidden`: suspended, with the posts hidden.
    #[schema(example = "suspended")]
    status: &'static str,
    /// Why the user is suspended; absent if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Spam", nullable = false)]
    reason: Option<&'a str>,
    /// The number of the user's posts.
    #[schema(example = 12)]
    posts: u64,
    /// The number of posts that the user likes.
    #[schema(example = 34)]
    likes: u64,
}

/// A page of users.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModeratedUserPage<'a> {
    /// The users, the newest first.
    data: Vec<ModeratedUser<'a>>,
    /// The link to the next page.
    paging: Paging,
}

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
pub(crate) struct AuditEntry<'a> {
    /// The entry's id.
    #[schema(example = 3, minimum = 1)]
    id: i64,
    /// When it happened, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000")]
    created_at: AsDisplay<Timestamp>,
    /// The username of the moderator or owner; `operator` for the command line.
    #[schema(example = "grace")]
    actor: &'a str,
    /// The network that the request came from: an address without its last part; absent for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "203.0.113.0/24", nullable = false)]
    network: Option<&'a str>,
    /// What was done.
    #[schema(example = "hide_post")]
    action: &'a str,
    /// The user whom it is about; absent if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ada", nullable = false)]
    username: Option<&'a str>,
    /// The post that it is about; absent if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 42, nullable = false)]
    post_id: Option<i64>,
    /// The reason, or the new value; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Spam", nullable = false)]
    detail: Option<&'a str>,
}

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
pub(crate) struct AuditPage<'a> {
    /// The entries, newest first.
    data: Vec<AuditEntry<'a>>,
    /// The link to the next page.
    paging: Paging,
}

/// A code that resets a password.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResetLink {
    /// The address of the page on which the user sets a new password, once and within 24 hours.
    #[schema(example = "https://photos.example.org/recovery?username=ada#abcd-efgh-ijkm-npqr")]
    url: String,
}

impl<'a> From<&'a model::User> for ModeratedUser<'a> {
    fn from(user: &'a model::User) -> Self {
        Self { user: User::from(user), role: user.role.as_str(), status: user.status.as_str() }
    }
}

impl<'a> From<&'a UserRecord> for UserRecordDto<'a> {
    fn from(record: &'a UserRecord) -> Self {
        Self {
            user: User::from(&record.user),
            role: record.user.role.as_str(),
            status: record.user.status.as_str(),
            reason: record.status_reason.as_ref().map(Reason::as_str),
            posts: record.posts,
            likes: record.likes,
        }
    }
}

impl<'a> From<&'a AuditRow> for AuditEntry<'a> {
    fn from(row: &'a AuditRow) -> Self {
        Self {
            id: row.id,
            created_at: AsDisplay(row.created_at),
            actor: &row.actor,
            network: row.network.as_deref(),
            action: &row.action,
            username: row.username.as_deref(),
            post_id: row.post_id.map(|post| post.0),
            detail: row.detail.as_deref(),
        }
    }
}

/// Reads the reason of a decision; the role is checked before and after.
async fn decision(
    http: &Http,
    caller: &Caller,
    address: IpAddr,
    least: Role,
    form: FormBody<ReasonForm>,
) -> Result<(Actor, Reason), ApiError> {
    caller.check_role(least)?;
    let reason = required_reason(&mut form.read(http).await?, "reason")?;
    Ok((actor(http, caller, address, least).await?, reason))
}

pub(crate) async fn users(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let raw = parts.uri.query().unwrap_or_default();
    let query = FeedQuery::parse(raw)?;
    let status: Option<Status> = feed::parameter(raw, "status")
        .map(|word| word.parse().map_err(|rule: model::ValidationError| ApiError::invalid("status", rule.0)))
        .transpose()?;
    let (users, next) = http.app.users(status, query.cursor(), query.limit()).await?;
    let base_url = http.addresses.base_url((&parts).into());
    let suffix = status.map(|status| format!("&status={status}")).unwrap_or_default();
    let next = next.map(|cursor| query.next_url(cursor, users.len(), &base_url, "/admin/users") + &suffix);
    let shown = users.iter().filter(|user| user.status != Status::Deleted);
    let data = shown.map(ModeratedUser::from).collect();
    Ok(json(StatusCode::OK, &ModeratedUserPage { data, paging: Paging { next } }))
}

/// The `status` parameter of [`users`].
pub(crate) fn describe_status(entry: &mut Entry) {
    let status = string().enum_values(Some(["active", "pending", "suspended", "hidden"]));
    let about = "Only users with this status; all by default";
    entry.parameter(parameter("status", ParameterIn::Query, about, status));
}

pub(crate) async fn user(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PathId(username): PathId<Username>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let record = http.app.user_record(&username).await?;
    Ok(json(StatusCode::OK, &UserRecordDto::from(&record)))
}

pub(crate) async fn suspend(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<Suspension>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let mut form = form.read(&http).await?;
    let reason = required_reason(&mut form, "reason")?;
    let actor = actor(&http, &caller, address, Role::Moderator).await?;
    let hide = match form.text("hide_posts")?.as_deref() {
        None | Some("" | "false") => false,
        Some("true") => true,
        Some(_) => return Err(ApiError::invalid("hide_posts", "hide_posts must be true or false")),
    };
    http.app.suspend(&actor, &username, hide, reason).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

/// Ends a suspension, or approves an account.
pub(crate) async fn restore(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Moderator)?;
    http.app.restore(&actor, &username).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn set_role(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<RoleForm>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Owner)?;
    let role = form.read(&http).await?.required("role")?;
    let actor = actor(&http, &caller, address, Role::Owner).await?;
    let role = role.parse().map_err(|rule: model::ValidationError| ApiError::invalid("role", rule.0))?;
    http.app.set_role(&actor, &username, role).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn remove_photo(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &caller, address, Role::Moderator, form).await?;
    http.app.remove_profile_photo(&actor, &username, reason).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn delete_user(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &caller, address, Role::Owner, form).await?;
    http.app.delete_account(&actor, &username, Some(reason)).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn reset_password(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    BaseUrl(base_url): BaseUrl,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Owner)?;
    let (user, code) = http.app.reset_code(&actor, &username).await?;
    let url = links::reset(&base_url, &user.username, &code);
    Ok(json(StatusCode::CREATED, &ResetLink { url }))
}

pub(crate) async fn hide_post(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &caller, address, Role::Moderator, form).await?;
    http.app.moderate_hide(&actor, id, reason).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn show_post(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Moderator)?;
    http.app.moderate_show(&actor, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn delete_post(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &caller, address, Role::Moderator, form).await?;
    http.app.moderate_delete(&actor, id, Some(reason)).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn audit_log(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let query = FeedQuery::parse(parts.uri.query().unwrap_or_default())?;
    let (rows, next) = http.app.audit_log(query.cursor(), query.limit().get()).await?;
    let base_url = http.addresses.base_url((&parts).into());
    let next = next.map(|cursor| query.next_url(cursor, rows.len(), &base_url, "/admin/audit"));
    let data = rows.iter().map(AuditEntry::from).collect();
    Ok(json(StatusCode::OK, &AuditPage { data, paging: Paging { next } }))
}
