//! What moderators and owners do: users, posts, the audit log.

use std::borrow::Cow;
use std::net::IpAddr;
use std::str::FromStr;

use app::{Actor, AuditRow, Caller, UserRecord};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{Network, PostId, Reason, Role, Timestamp, UserFilter, Username, ValidationError};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::ParameterIn;

use crate::http::dto::{AsDisplay, Empty, Paging, User};
use crate::http::error::ApiError;
use crate::http::extract::base_url::BaseUrl;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::paging::PageHead;
use crate::http::extract::path::PathId;
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::{OwnerPassword, form};
use crate::http::handlers::feed::{self, FeedQuery};
use crate::http::handlers::reports::ReasonForm;
use crate::http::handlers::security::owner;
use crate::http::json::json;
use crate::http::openapi::{Entry, parameter, string};
use crate::http::state::Http;
use crate::links;

form! {
    /// A suspension.
    pub(crate) struct Suspension {
        /// Why; the user sees it. Up to 1,000 characters.
        reason: Reason = "Spam",
        /// Whether the profile and its posts are hidden as well; `false` by default.
        hide_posts: Option<bool> = true,
    }
}

form! {
    /// A role.
    pub(crate) struct RoleForm {
        /// `member`, `moderator` or `owner`.
        role: Role = "moderator",
        /// The owner's own password.
        current_password: OwnerPassword = "correct horse",
    }
}

form! {
    /// The password of the owner who deletes an account, and why.
    pub(crate) struct AccountDeletion {
        /// Up to 1,000 characters.
        reason: Reason = "Spam",
        /// The owner's own password.
        current_password: OwnerPassword = "correct horse",
    }
}

form! {
    /// The password of the owner who resets that of a user.
    pub(crate) struct PasswordReset {
        /// The owner's own password.
        current_password: OwnerPassword = "correct horse",
    }
}

/// A user as moderators see them, in a list.
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
    /// Why the user is suspended; absent if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Spam", nullable = false)]
    reason: Option<&'a str>,
    /// The network that the account joined from: an address without its last part. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "203.0.113.0/24", nullable = false)]
    network: Option<AsDisplay<Network>>,
    /// The number of the user's posts.
    #[schema(example = 12)]
    post_count: u64,
    /// The number of posts that the user likes.
    #[schema(example = 34)]
    like_count: u64,
}

/// A user as moderators see them.
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
    /// The network that the account joined from: an address without its last part. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "203.0.113.0/24", nullable = false)]
    network: Option<AsDisplay<Network>>,
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

impl<'a> From<&'a UserRecord> for ModeratedUser<'a> {
    fn from(record: &'a UserRecord) -> Self {
        let UserRecordDto { user, role, status, reason, network, posts, likes } = record.into();
        Self { user, role, status, reason, network, post_count: posts, like_count: likes }
    }
}

impl<'a> From<&'a UserRecord> for UserRecordDto<'a> {
    fn from(record: &'a UserRecord) -> Self {
        Self {
            user: User::from(&record.user),
            role: record.user.role.as_str(),
            status: record.user.status.as_str(),
            reason: record.status_reason.as_ref().map(Reason::as_str),
            network: record.network.map(AsDisplay),
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
    caller: &mut Caller,
    address: IpAddr,
    form: FormBody<ReasonForm>,
) -> Result<(Actor, Reason), ApiError> {
    caller.check_role(Role::Moderator)?;
    let reason = form.read(http, caller).await?.reason;
    Ok((Actor::new(caller, address, Role::Moderator)?, reason))
}

pub(crate) async fn users(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let raw = parts.uri.query().unwrap_or_default();
    let (query, filter) = (FeedQuery::parse(raw)?, user_filter(raw)?);
    let (users, next) = http.app.users(filter, query.cursor(), query.limit()).await?;
    let base_url = http.base_url(&parts);
    let next = next.map(|cursor| {
        let url = query.next_url(cursor, users.len(), &base_url, "/admin/users");
        let mut url = form_urlencoded::Serializer::for_suffix(url, 0);
        for (name, _) in USER_FILTER {
            url.extend_pairs(given(raw, name).map(|value| (name, value)));
        }
        url.finish()
    });
    let data = users.iter().map(ModeratedUser::from).collect();
    Ok(json(StatusCode::OK, &ModeratedUserPage { data, paging: Paging { next } }))
}

/// The parameters that select [`users`].
const USER_FILTER: [(&str, &str); 5] = [
    ("query", "The beginning of the username, in any case"),
    ("status", "Only users with this status; all by default"),
    ("role", "Only users with this role; all by default"),
    ("network", "Only users who joined from this address or prefix, such as `203.0.113.0/24`"),
    ("since", "Only users who joined at or after this time, or since the start of this day in UTC"),
];

pub(crate) fn describe_users(entry: &mut Entry) {
    for (name, about) in USER_FILTER {
        let schema = match name {
            "status" => string().enum_values(Some(["active", "pending", "suspended", "hidden"])),
            "role" => string().enum_values(Some(["member", "moderator", "owner"])),
            "network" => string().pattern(Some(r"^[0-9a-fA-F:.]+(/\d{1,3})?$")),
            "since" => string()
                .pattern(Some(r"^\d{4}-\d{2}-\d{2}(T.+)?$"))
                .examples(["2026-11-14T09:30:00Z", "2026-11-14"]),
            _ => string(),
        };
        entry.parameter(parameter(name, ParameterIn::Query, about, schema));
    }
    entry.error(400, "A parameter is invalid");
}

pub(crate) fn user_filter(raw: &str) -> Result<UserFilter, ApiError> {
    let query = given(raw, "query").map(Cow::into_owned);
    if query.as_ref().is_some_and(|query| query.contains('\0')) {
        return Err(ApiError::invalid("query", "query contains a NUL character"));
    }
    let since = given(raw, "since").map(|text| Timestamp::parse_or_day(&text)).transpose();
    Ok(UserFilter {
        query,
        status: parsed(raw, "status")?,
        role: parsed(raw, "role")?,
        network: parsed(raw, "network")?,
        since: since.map_err(|rule| ApiError::invalid("since", rule))?,
    })
}

fn parsed<T: FromStr<Err = ValidationError>>(raw: &str, name: &'static str) -> Result<Option<T>, ApiError> {
    let value = given(raw, name).map(|text| text.parse()).transpose();
    value.map_err(|rule: ValidationError| ApiError::invalid(name, rule))
}

/// A parameter that is not empty, as one is that a form leaves open.
pub(crate) fn given<'a>(raw: &'a str, name: &str) -> Option<Cow<'a, str>> {
    feed::parameter(raw, name).filter(|value| !value.is_empty())
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
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<Suspension>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let Suspension { reason, hide_posts } = form.read(&http, &mut caller).await?;
    let actor = Actor::new(&caller, address, Role::Moderator)?;
    http.app.suspend(&actor, &username, hide_posts.unwrap_or(false), reason).await?;
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
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<RoleForm>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Owner)?;
    let RoleForm { role, current_password } = form.read(&http, &mut caller).await?;
    let actor = owner(&http, &caller, address, current_password).await?;
    http.app.set_role(&actor, &username, role).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn remove_photo(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &mut caller, address, form).await?;
    http.app.remove_profile_photo(&actor, &username, reason).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn delete_user(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    form: FormBody<AccountDeletion>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Owner)?;
    let AccountDeletion { reason, current_password } = form.read(&http, &mut caller).await?;
    let actor = owner(&http, &caller, address, current_password).await?;
    http.app.delete_account(&actor, &username, Some(reason)).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn reset_password(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(username): PathId<Username>,
    BaseUrl(base_url): BaseUrl,
    form: FormBody<PasswordReset>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Owner)?;
    let PasswordReset { current_password } = form.read(&http, &mut caller).await?;
    let actor = owner(&http, &caller, address, current_password).await?;
    let (user, code) = http.app.reset_code(&actor, &username).await?;
    let url = links::reset(&base_url, &user.username, &code);
    Ok(json(StatusCode::CREATED, &ResetLink { url }))
}

pub(crate) async fn hide_post(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &mut caller, address, form).await?;
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
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<PostId>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    let (actor, reason) = decision(&http, &mut caller, address, form).await?;
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
    let base_url = http.base_url(&parts);
    let next = next.map(|cursor| query.next_url(cursor, rows.len(), &base_url, "/admin/audit"));
    let data = rows.iter().map(AuditEntry::from).collect();
    Ok(json(StatusCode::OK, &AuditPage { data, paging: Paging { next } }))
}
