//! The invitations of all makers, for moderators. Those of the caller are in [`super::instance`].

use app::{Actor, UsableInvitation};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use model::{Role, SessionId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::dto::{AsDisplay, Empty};
use crate::http::error::ApiError;
use crate::http::extract::client_address::ClientAddress;
use crate::http::extract::path::{InvitationId, PathId};
use crate::http::extract::session::RequiredSession;
use crate::http::json::json;
use crate::http::state::Http;

/// An invitation, without its link, as moderators see it.
#[derive(Serialize, ToSchema)]
#[schema(as = UsableInvitation)]
pub(crate) struct UsableInvitationDto {
    /// The invitation's id.
    #[schema(value_type = String, example = "3f1e6c0d2b487e2a", pattern = "^[0-9a-f]{16}$")]
    id: AsDisplay<SessionId>,
    /// The username of who has made it; absent for the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "grace", nullable = false)]
    username: Option<String>,
    /// The role of those who join with it.
    #[schema(example = "member")]
    role: &'static str,
    /// How many more users may join with it.
    #[schema(example = 1)]
    uses_left: u32,
    /// When it was made, in UTC.
    #[schema(value_type = String, example = "2026-11-14T09:30:00+0000")]
    created_at: AsDisplay<Timestamp>,
    /// When it expires, in UTC.
    #[schema(value_type = String, example = "2026-11-21T09:30:00+0000")]
    expires_at: AsDisplay<Timestamp>,
}

/// Invitations with which others can join now.
#[derive(Serialize, ToSchema)]
pub(crate) struct UsableInvitationList {
    /// The last to expire first, a thousand at most.
    data: Vec<UsableInvitationDto>,
}

impl From<UsableInvitation> for UsableInvitationDto {
    fn from(UsableInvitation { invitation, maker }: UsableInvitation) -> Self {
        Self {
            id: AsDisplay(invitation.id),
            username: maker.map(|maker| maker.username.to_string()),
            role: invitation.role.as_str(),
            uses_left: invitation.max_uses - invitation.uses,
            created_at: AsDisplay(invitation.created_at),
            expires_at: AsDisplay(invitation.expires_at),
        }
    }
}

pub(crate) async fn list(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Moderator)?;
    let invitations = http.app.usable_invitations(&actor).await?;
    let data = invitations.into_iter().map(UsableInvitationDto::from).collect();
    Ok(json(StatusCode::OK, &UsableInvitationList { data }))
}

pub(crate) async fn revoke(
    State(http): State<Http>,
    RequiredSession(caller): RequiredSession,
    ClientAddress(address): ClientAddress,
    PathId(InvitationId(id)): PathId<InvitationId>,
) -> Result<Response, ApiError> {
    let actor = Actor::new(&caller, address, Role::Moderator)?;
    http.app.revoke_invitation(&actor, id).await?;
    Ok(json(StatusCode::OK, &Empty {}))
}
