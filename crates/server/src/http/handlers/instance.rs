//! The instance: what it says about itself, and who may join.

use std::time::Duration;

use app::{Actor, App, Client, Instance, Quota};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use model::{Role, SessionId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dto::{AsDisplay, Empty};
use crate::http::error::ApiError;
use crate::http::extract::base_url::BaseUrl;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::{FormBody, FormSchema};
use crate::http::extract::path::{InvitationId, PathId};
use crate::http::extract::session::RequiredSession;
use crate::http::handlers::security::owner;
use crate::http::handlers::upload::{FileParameter, read_file};
use crate::http::json::json;
use crate::http::state::Http;
use crate::links;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// An edit of the instance. A parameter that is not sent stays as it is, an empty one is unset.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct InstanceEdit {
    /// The name of the instance: one line of up to 60 characters.
    #[schema(example = "Birds of the north", max_length = 60, nullable = false)]
    name: Option<String>,
    /// What it is about, up to 500 characters.
    #[schema(example = "Photos of birds", max_length = 500, nullable = false)]
    description: Option<String>,
    /// The rules of the community, up to 5,000 characters.
    #[schema(example = "Be kind.", max_length = 5000, nullable = false)]
    rules: Option<String>,
    /// How to reach those who run it: one line of up to 200 characters.
    #[schema(example = "grace@example.org", max_length = 200, nullable = false)]
    contact: Option<String>,
    /// Terms that must be accepted to join, up to 10,000 characters.
    #[schema(example = "You keep the rights to your photos.", max_length = 10000, nullable = false)]
    terms: Option<String>,
    /// The accent colour of the web client.
    #[schema(example = "#b8442f", pattern = "^(#[0-9A-Fa-f]{6})?$", nullable = false)]
    accent: Option<String>,
    /// Who may join: `open`, `invitation`, `approval` or `closed`.
    #[schema(example = "invitation", pattern = "^(open|invitation|approval|closed)?$", nullable = false)]
    registration: Option<String>,
    /// Whether members may invite others: `on` or `off`.
    #[schema(example = "on", pattern = "^(on|off)?$", nullable = false)]
    member_invitations: Option<String>,
    /// The owner's own password, to change `registration` or `member_invitations`.
    #[schema(example = "correct horse", format = Password, nullable = false)]
    current_password: Option<String>,
    /// The bytes that the photos of a member may take.
    #[schema(example = "10000000000", nullable = false)]
    member_bytes: Option<String>,
    /// The photos that a member may post in 24 hours.
    #[schema(example = "100", nullable = false)]
    member_posts_per_day: Option<String>,
    /// The likes that a member may give in a minute.
    #[schema(example = "60", nullable = false)]
    member_likes_per_minute: Option<String>,
    /// The bytes that the photos of a moderator may take.
    #[schema(example = "10000000000", nullable = false)]
    moderator_bytes: Option<String>,
    /// The photos that a moderator may post in 24 hours.
    #[schema(example = "100", nullable = false)]
    moderator_posts_per_day: Option<String>,
    /// The likes that a moderator may give in a minute.
    #[schema(example = "60", nullable = false)]
    moderator_likes_per_minute: Option<String>,
}

impl FormSchema for InstanceEdit {
    const TEXT: &'static [&'static str] = &[
        "name",
        "description",
        "rules",
        "contact",
        "terms",
        "accent",
        "registration",
        "member_invitations",
        "current_password",
        "member_bytes",
        "member_posts_per_day",
        "member_likes_per_minute",
        "moderator_bytes",
        "moderator_posts_per_day",
        "moderator_likes_per_minute",
    ];
    const IS_REQUIRED: bool = false;
}

/// A logo.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct NewLogo {
    /// An image file, of which the centre is cropped to a square.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    logo: Vec<u8>,
}

impl FormSchema for NewLogo {
    const TEXT: &'static [&'static str] = &[];
    const FILE: Option<&'static str> = Some("logo");
}

/// The instance.
#[derive(Serialize, ToSchema)]
#[schema(as = Instance)]
pub(crate) struct InstanceDto<'a> {
    /// The name; `Pinhole` if none is set.
    #[schema(example = "Birds of the north")]
    name: &'a str,
    /// What it is about; absent if nothing is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Photos of birds", nullable = false)]
    description: Option<&'a str>,
    /// The rules of the community; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Be kind.", nullable = false)]
    rules: Option<&'a str>,
    /// How to reach those who run it; absent if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "grace@example.org", nullable = false)]
    contact: Option<&'a str>,
    /// Terms that must be accepted to join, with `terms=accepted`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "You keep the rights to your photos.", nullable = false)]
    terms: Option<&'a str>,
    /// The accent colour of the web client; absent if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "#b8442f", nullable = false)]
    accent: Option<&'a str>,
    /// The address of the logo, a square WebP image; absent if there is none. It changes with the logo.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://photos.example.org/instance/logo?v=3f1e6c0d2b487e2a", nullable = false)]
    logo: Option<String>,
    /// Who may join: `open`, `invitation`, `approval` or `closed`.
    #[schema(example = "open")]
    registration: &'static str,
    /// Whether members may invite others.
    member_invitations: bool,
    /// What members may store and do.
    member_quota: QuotaDto,
    /// What moderators may store and do.
    moderator_quota: QuotaDto,
    /// The server software.
    software: Software,
    /// The largest upload, in bytes.
    #[schema(example = 33_554_432)]
    max_upload: u64,
    /// The shortest password of a new account, in bytes.
    #[schema(example = 8)]
    min_password: usize,
}

/// Limits of a role; an absent one is unlimited.
#[derive(Serialize, ToSchema)]
#[schema(as = Quota)]
pub(crate) struct QuotaDto {
    /// The size of all photos, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 10_000_000_000_u64, nullable = false)]
    bytes: Option<u64>,
    /// The photos that may be posted in 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 100, nullable = false)]
    posts_per_day: Option<u64>,
    /// The likes that may be given in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 60, nullable = false)]
    likes_per_minute: Option<u64>,
}

/// The server software.
#[derive(Serialize, ToSchema)]
pub(crate) struct Software {
    /// Always `pinhole`.
    #[schema(example = "pinhole")]
    name: &'static str,
    /// Its version.
    #[schema(example = "0.1.0")]
    version: &'static str,
}

/// A new invitation.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form")]
pub(crate) struct NewInvitation {
    /// How many users may join with it, 1 by default.
    #[schema(example = "1", nullable = false)]
    uses: Option<String>,
    /// The days until it expires, 7 by default.
    #[schema(example = "7", nullable = false)]
    days: Option<String>,
}

impl FormSchema for NewInvitation {
    const TEXT: &'static [&'static str] = &["uses", "days"];
    const IS_REQUIRED: bool = false;
}

/// An invitation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Invitation {
    /// The invitation's id.
    #[schema(value_type = String, example = "3f1e6c0d2b487e2a", pattern = "^[0-9a-f]{16}$")]
    id: AsDisplay<SessionId>,
    /// The link that allows to join; only in the response that makes the invitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://photos.example.org/join?invitation=abcd-efgh-ijkm-npqr", nullable = false)]
    url: Option<String>,
    /// The role of those who join with it.
    #[schema(example = "member")]
    role: &'static str,
    /// How many users have joined with it.
    #[schema(example = 0)]
    uses: u32,
    /// How many users may join with it.
    #[schema(example = 1)]
    max_uses: u32,
    /// When it was made, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000")]
    created_at: AsDisplay<Timestamp>,
    /// When it expires, in UTC.
    #[schema(value_type = String, example = "2026-11-21T09:30:00+0000")]
    expires_at: AsDisplay<Timestamp>,
}

/// The invitations that the current user has made.
#[derive(Serialize, ToSchema)]
pub(crate) struct InvitationList {
    /// Those that have not expired.
    data: Vec<Invitation>,
}

impl From<Quota> for QuotaDto {
    fn from(quota: Quota) -> Self {
        let Quota { bytes, posts_per_day, likes_per_minute } = quota;
        Self { bytes, posts_per_day, likes_per_minute }
    }
}

impl Invitation {
    fn new(invitation: app::Invitation, url: Option<String>) -> Self {
        let app::Invitation { id, role, uses, max_uses, created_at, expires_at } = invitation;
        Self {
            id: AsDisplay(id),
            url,
            role: role.as_str(),
            uses,
            max_uses,
            created_at: AsDisplay(created_at),
            expires_at: AsDisplay(expires_at),
        }
    }
}

pub(crate) async fn get(State(http): State<Http>, BaseUrl(base_url): BaseUrl) -> Result<Response, ApiError> {
    let instance = http.app.instance().await?;
    Ok(respond(&http.app, &instance, &base_url))
}

fn respond(app: &App, instance: &Instance, base_url: &str) -> Response {
    let dto = InstanceDto {
        name: instance.name(),
        description: instance.description.as_deref(),
        rules: instance.rules.as_deref(),
        contact: instance.contact.as_deref(),
        terms: instance.terms.as_deref(),
        accent: instance.accent.as_deref(),
        logo: instance.logo.as_ref().map(|logo| format!("{base_url}{}", links::logo(logo))),
        registration: instance.registration.as_str(),
        member_invitations: instance.member_invitations,
        member_quota: instance.member_quota.into(),
        moderator_quota: instance.moderator_quota.into(),
        software: Software { name: "pinhole", version: env!("CARGO_PKG_VERSION") },
        max_upload: app.max_upload(),
        min_password: app.min_password(),
    };
    json(StatusCode::OK, &dto)
}

pub(crate) async fn edit(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    BaseUrl(base_url): BaseUrl,
    form: FormBody<InstanceEdit>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Owner)?;
    let mut form = form.read(&http, &mut caller).await?;
    let actor = owner(&http, &caller, address, &mut form).await?;
    let mut values = Vec::new();
    for key in App::instance_keys() {
        values.extend(form.text(key)?.map(|value| (key, value)));
    }
    let instance = http.app.edit_instance(&actor, values).await?;
    Ok(respond(&http.app, &instance, &base_url))
}

/// Its URL has its version.
pub(crate) async fn logo(State(http): State<Http>, request: Request) -> Result<Response, ApiError> {
    let instance = http.app.instance().await?;
    let missing = || ApiError::not_found("this instance has no logo");
    let logo = instance.logo.as_ref().ok_or_else(missing)?;
    let is_current = request.uri().query().is_some_and(|query| query == links::logo_query(logo));
    let headers = [(CONTENT_TYPE, "image/webp"), (CACHE_CONTROL, links::cache_control(is_current))];
    Ok((headers, logo.bytes.clone()).into_response())
}

pub(crate) async fn set_logo(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    BaseUrl(base_url): BaseUrl,
    form: FormBody<NewLogo>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Owner)?;
    let client = Client::anonymous(address).with_user(caller.user.id);
    let permit = http.app.begin_upload(client)?;
    let (name, max) = ("logo", http.app.max_upload());
    let parameter = FileParameter { name, max, over_quota: None, share: None, about: "an image file" };
    let (file, _) = read_file(&http, &mut caller, form, parameter, &permit).await?;
    let actor = Actor::new(&caller, address, Role::Owner)?;
    let instance = http.app.set_logo(&actor, client, Some(file)).await?;
    Ok(respond(&http.app, &instance, &base_url))
}

pub(crate) async fn delete_logo(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Owner)?;
    http.app.set_logo(&actor, Client::anonymous(address), None).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}

pub(crate) async fn invitations(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Member)?;
    let invitations = http.app.invitations(&actor).await?;
    let data = invitations.into_iter().map(|invitation| Invitation::new(invitation, None)).collect();
    Ok(json(StatusCode::OK, &InvitationList { data }))
}

pub(crate) async fn invite(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    BaseUrl(base_url): BaseUrl,
    form: FormBody<NewInvitation>,
) -> Result<Response, ApiError> {
    http.app.check_may_invite(&caller).await?;
    let mut form = form.read(&http, &mut caller).await?;
    let actor = Actor::new(&caller, address, Role::Member)?;
    let number = |field, raw: Option<String>, default: u32| match raw {
        None => Ok(default),
        Some(raw) => {
            raw.parse().map_err(|_| ApiError::invalid(field, format!("{field} must be a whole number")))
        }
    };
    let uses = number("uses", form.text("uses")?, 1)?;
    let days = number("days", form.text("days")?, 7)?;
    let (code, invitation) = http.app.invite(&actor, Role::Member, uses, days * DAY).await?;
    let url = links::invitation(&base_url, &code);
    Ok(json(StatusCode::CREATED, &Invitation::new(invitation, Some(url))))
}

pub(crate) async fn delete_invitation(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(InvitationId(id)): PathId<InvitationId>,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Member)?;
    http.app.delete_invitation(&actor, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
