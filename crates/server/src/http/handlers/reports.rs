//! Reports: filed by users, resolved by moderators.

use app::Actor;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{PostId, Reason, ReportId, Role, Timestamp, Username};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::ParameterIn;

use crate::http::dto::{AsDisplay, Empty, Paging, User};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::form_body::FormBody;
use crate::http::extract::paging::PageHead;
use crate::http::extract::path::PathId;
use crate::http::extract::session::RequiredSession;
use crate::http::form::parameters::form;
use crate::http::handlers::feed::{self, FeedQuery};
use crate::http::json::json;
use crate::http::openapi::{Entry, parameter, string};
use crate::http::post_json::PostDto;
use crate::http::state::Http;

form! {
    /// Why something is reported, hidden, suspended or deleted.
    pub(crate) struct ReasonForm as "Reason" {
        /// Up to 1,000 characters.
        reason: Reason = "Spam",
    }
}

form! {
    /// How a report was resolved.
    pub(crate) struct Resolution {
        /// What was done, or why nothing was done. Up to 1,000 characters.
        resolution: Reason = "Hidden; the author was told why",
    }
}

/// A report of a post or a user.
#[derive(Serialize, ToSchema)]
pub(crate) struct Report<'a> {
    /// The report's id.
    #[schema(example = 7, minimum = 1)]
    id: i64,
    /// Who filed it; null if that user has left.
    #[schema(required = true)]
    reporter: Option<User<'a>>,
    /// The reported user, or the author of the reported post.
    user: User<'a>,
    /// The id of the reported post; absent if the user is reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 42, minimum = 1, nullable = false)]
    post_id: Option<i64>,
    /// The reported post; absent if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    post: Option<PostDto<'a>>,
    /// Why it was reported.
    #[schema(example = "Spam")]
    reason: &'a str,
    /// When it was filed, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000")]
    created_at: AsDisplay<Timestamp>,
    /// When it was resolved, in UTC; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000", nullable = false)]
    resolved_at: Option<AsDisplay<Timestamp>>,
    /// What the moderator did; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Hidden", nullable = false)]
    resolution: Option<&'a str>,
}

/// A page of reports.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReportPage<'a> {
    /// The reports, newest first.
    data: Vec<Report<'a>>,
    /// The link to the next page.
    paging: Paging,
}

impl<'a> From<&'a app::Report> for Report<'a> {
    fn from(report: &'a app::Report) -> Self {
        Self {
            id: report.id.0,
            reporter: report.reporter.as_ref().map(User::from),
            user: User::from(&report.user),
            post_id: report.post_id.map(|post| post.0),
            post: report.post.as_ref().map(PostDto::from),
            reason: report.reason.as_str(),
            created_at: AsDisplay(report.created_at),
            resolved_at: report.resolved_at.map(AsDisplay),
            resolution: report.resolution.as_deref(),
        }
    }
}

pub(crate) async fn report_post(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    PathId(id): PathId<PostId>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    http.app.post(Some(&caller), id).await?;
    let reason = form.read(&http, &mut caller).await?.reason;
    http.app.report_post(&caller, id, reason).await?;
    Ok(json(StatusCode::CREATED, &Empty {}))
}

pub(crate) async fn report_user(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    PathId(username): PathId<Username>,
    form: FormBody<ReasonForm>,
) -> Result<Response, ApiError> {
    http.app.user(Some(&caller), &username).await?;
    let reason = form.read(&http, &mut caller).await?.reason;
    http.app.report_user(&caller, &username, reason).await?;
    Ok(json(StatusCode::CREATED, &Empty {}))
}

pub(crate) async fn list(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let raw = parts.uri.query().unwrap_or_default();
    let query = FeedQuery::parse(raw)?;
    let is_resolved = match feed::parameter(raw, "status").as_deref() {
        None | Some("open") => false,
        Some("resolved") => true,
        Some(_) => return Err(ApiError::invalid("status", "status must be open or resolved")),
    };
    let (reports, next) = http.app.reports(&caller, is_resolved, query.cursor(), query.limit()).await?;
    let (base_url, status) = (http.base_url(&parts), if is_resolved { "&status=resolved" } else { "" });
    let next = next.map(|cursor| query.next_url(cursor, reports.len(), &base_url, "/admin/reports") + status);
    let data = reports.iter().map(Report::from).collect();
    Ok(json(StatusCode::OK, &ReportPage { data, paging: Paging { next } }))
}

/// The `status` parameter of [`list`].
pub(crate) fn describe_status(entry: &mut Entry) {
    let status = string().enum_values(Some(["open", "resolved"]));
    let about = "Which reports to list, `open` by default";
    entry.parameter(parameter("status", ParameterIn::Query, about, status));
}

pub(crate) async fn resolve(
    State(http): State<Http>,
    RequiredSession(mut caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<ReportId>,
    form: FormBody<Resolution>,
) -> Result<Response, ApiError> {
    caller.check_role(Role::Moderator)?;
    let resolution = form.read(&http, &mut caller).await?.resolution;
    let actor = Actor::new(&caller, address, Role::Moderator)?;
    http.app.resolve_report(&actor, id, resolution).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
