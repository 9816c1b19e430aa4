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
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::http::dto::{AsDisplay, Empty};
use crate::http::error::ApiError;
use crate::http::extract::base_url::BaseUrl;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::path::{InvitationId, PathId};
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::{FormFields, OwnerPassword, Password, Value, form, take};
use crate::http::form::{FormData, FormError};
use crate::http::handlers::security::owner;
use crate::http::handlers::upload::{FileLimit, read_file};
use crate::http::json::json;
use crate::http::openapi::string;
use crate::http::state::Http;
use crate::links;

use self::Shape::{Longest, Number, Pattern};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings that were sent of the instance.
pub(crate) struct InstanceEdit {
    values: Vec<(&'static str, String)>,
    current_password: OwnerPassword,
}

/// What each of [`App::instance_keys`] is, an example, and the longest value or the pattern of all.
const SETTINGS: [(&str, &str, &str, Shape); 14] = [
    ("name", "The name of the instance: one line of up to 60 characters.", "Birds of the north", Longest(60)),
    ("description", "What it is about, up to 500 characters.", "Photos of birds", Longest(500)),
    ("rules", "The rules of the community, up to 5,000 characters.", "Be kind.", Longest(5_000)),
    (
        "contact",
        "How to reach those who run it: one line of up to 200 characters.",
        "grace@example.org",
        Longest(200),
    ),
    (
        "terms",
        "Terms that must be accepted to join, up to 10,000 characters.",
        "You keep the rights to your photos.",
        Longest(10_000),
    ),
    ("accent", "The accent colour of the web client.", "#b8442f", Pattern("^(#[0-9A-Fa-f]{6})?$")),
    (
        "registration",
        "Who may join: `open`, `invitation`, `approval` or `closed`.",
        "invitation",
        Pattern("^(open|invitation|approval|closed)?$"),
    ),
    ("member_invitations", "Whether members may invite others: `on` or `off`.", "on", Pattern("^(on|off)?$")),
    ("member_bytes", "The bytes that the photos of a member may take.", "10000000000", Number),
    ("member_posts_per_day", "The photos that a member may post in 24 hours.", "100", Number),
    ("member_likes_per_minute", "The likes that a member may give in a minute.", "60", Number),
    ("moderator_bytes", "The bytes that the photos of a moderator may take.", "10000000000", Number),
    ("moderator_posts_per_day", "The photos that a moderator may post in 24 hours.", "100", Number),
    ("moderator_likes_per_minute", "The likes that a moderator may give in a minute.", "60", Number),
];

enum Shape {
    Longest(usize),
    Pattern(&'static str),
    Number,
}

impl FormFields for InstanceEdit {
    const NAME: &'static str = "InstanceEdit";
    const TEXT: &'static [&'static str] = &{
        let mut names = ["current_password"; SETTINGS.len() + 1];
        let mut index = 0;
        while index < SETTINGS.len() {
            names[index] = SETTINGS[index].0;
            index += 1;
        }
        names
    };
    const IS_REQUIRED: bool = false;

    fn parse(data: &mut FormData) -> Result<Self, FormError> {
        let mut values = Vec::new();
        for key in App::instance_keys() {
            values.extend(data.text(key)?.map(|value| (key, value)));
        }
        Ok(Self { values, current_password: take(data, "current_password")? })
    }

    fn schema() -> ObjectBuilder {
        let about =
            "An edit of the instance. A parameter that is not sent stays as it is, an empty one is unset.";
        let password = "The owner's own password, to change `registration` or `member_invitations`.";
        let password = Password::shape().description(Some(password)).examples(["correct horse"]);
        let form = ObjectBuilder::new().schema_type(Type::Object).description(Some(about));
        SETTINGS.iter().fold(
            form.property("current_password", password),
            |form, (name, about, example, shape)| {
                let setting = string().description(Some(*about)).examples([*example]);
                let setting = match shape {
                    Longest(chars) => setting.max_length(Some(*chars)),
                    Pattern(pattern) => setting.pattern(Some(*pattern)),
                    Number => setting,
                };
                form.property(*name, setting)
            },
        )
    }
}

form! {
    /// A logo.
    pub(crate) struct NewLogo {
        file logo: "application/octet-stream" = "An image file, of which the centre is cropped to a square.",
    }
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

form! {
    /// A new invitation.
    pub(crate) struct NewInvitation {
        /// How many users may join with it, 1 by default.
        uses: Option<u32> = 1,
        /// The days until it expires, 7 by default.
        days: Option<u32> = 7,
    }
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
    let InstanceEdit { values, current_password } = form.read(&http, &mut caller).await?;
    let actor = owner(&http, &caller, address, current_password).await?;
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
    let limit = FileLimit::of_photo(&http);
    let (file, NewLogo {}) = read_file(&http, &mut caller, form, limit, &permit).await?;
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
    let NewInvitation { uses, days } = form.read(&http, &mut caller).await?;
    let actor = Actor::new(&caller, address, Role::Member)?;
    let (uses, expires_in) = (uses.unwrap_or(1), days.unwrap_or(7) * DAY);
    let (code, invitation) = http.app.invite(&actor, Role::Member, uses, expires_in).await?;
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
