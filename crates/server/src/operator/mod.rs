//! The commands of the operator, such as `pinhole user suspend`. They run in the service through a socket in
//! the data folder, since SQLite's readers only notice commits of their own process; or in the process of the
//! command, if no service runs on the data folder.

mod import_account;
mod instance;
mod render;
mod socket;
mod users;

use std::time::Duration;

use app::{Actor, App, AuditRow, UsableInvitation};
use clap::Subcommand;
use model::{PostId, Reason, Role, SessionId, Username};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::links;

pub(crate) use import_account::{ImportCommand, import_account};
pub(crate) use instance::InstanceCommand;
pub(crate) use render::render;
pub(crate) use socket::{OperatorSocket, call, send_archive};
pub(crate) use users::{NAMES_AT_ONCE, UserCommand};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A command of the operator.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum OperatorCommand {
    User(UserCommand),
    Post(PostCommand),
    Invite(InviteCommand),
    Invitations(InvitationsCommand),
    Instance(InstanceCommand),
    Audit {
        limit: usize,
    },
    Stats,
    /// The archive follows the command.
    ImportAccount(ImportCommand),
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand, Serialize, Deserialize)]
pub(crate) enum PostCommand {
    /// Delete a post with its photo
    Delete {
        id: String,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Hide a post from all but its author and moderators
    Hide {
        id: String,
        /// Why; the author sees it
        #[arg(long)]
        reason: String,
    },
    /// Show a hidden post again
    Show { id: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InviteCommand {
    pub(crate) uses: u32,
    pub(crate) days: u32,
    pub(crate) role: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand, Serialize, Deserialize)]
pub(crate) enum InvitationsCommand {
    /// List the invitations with which others can join now
    List,
    /// Revoke an invitation: its link stops working
    Revoke {
        /// The id in the list
        id: String,
    },
}

impl OperatorCommand {
    /// Whether the command makes sense where there is no instance yet.
    pub(crate) fn may_create_instance(&self) -> bool {
        matches!(self, Self::User(UserCommand::Add { .. }))
    }

    pub(crate) fn deletes_account(&self) -> bool {
        matches!(self, Self::User(UserCommand::Delete { .. }))
    }

    /// Runs the command; the result is printed as it is with `--json`. The error is a message.
    pub(crate) async fn execute(self, app: &App, base_url: &str) -> Result<Value, String> {
        self.run(app, base_url).await.map_err(|error| error.to_string())
    }

    async fn run(self, app: &App, base_url: &str) -> Result<Value, app::Error> {
        let operator = Actor::operator();
        match self {
            Self::User(command) => command.run(app, &operator, base_url).await,
            Self::Post(command) => command.run(app, &operator).await,
            Self::Invite(InviteCommand { uses, days, role }) => {
                let role: Role = parse("role", &role)?;
                let (code, invitation) = app.invite(&operator, role, uses, days * DAY).await?;
                let url = links::invitation(base_url, &code);
                let expires_at = invitation.expires_at.to_string();
                Ok(json!({ "url": url, "role": role.as_str(), "uses": uses, "expires_at": expires_at }))
            }
            Self::Invitations(InvitationsCommand::List) => {
                let invitations = app.usable_invitations(&operator).await?;
                Ok(invitations.iter().map(invitation).collect())
            }
            Self::Invitations(InvitationsCommand::Revoke { id }) => {
                let parsed: SessionId = id.parse().map_err(|_| {
                    app::Error::invalid(
                        "id",
                        "this is no id of an invitation; `pinhole invite list` prints them",
                    )
                })?;
                app.revoke_invitation(&operator, parsed).await?;
                Ok(json!({ "id": id, "status": "revoked" }))
            }
            Self::Instance(command) => command.run(app, &operator).await,
            Self::ImportAccount(_) => Err(app::Error::invalid("archive", "the archive is missing")),
            Self::Audit { limit } => {
                let (rows, _) = app.audit_log(None, limit).await?;
                Ok(rows.iter().map(audit_entry).collect())
            }
            Self::Stats => {
                let (totals, photos) = (app.instance_totals().await?, app.photo_totals().await?);
                Ok(json!({
                    "users": totals.users,
                    "pending": totals.pending,
                    "suspended": totals.suspended,
                    "deleting": totals.deleting,
                    "posts": totals.posts,
                    "likes": totals.likes,
                    "photos": photos.photos,
                    "photo_bytes": photos.bytes,
                }))
            }
        }
    }
}

impl PostCommand {
    async fn run(self, app: &App, operator: &Actor) -> Result<Value, app::Error> {
        match self {
            Self::Delete { id, reason } => {
                let (id, reason) = (parse::<PostId>("id", &id)?, reason.map(self::reason).transpose()?);
                app.moderate_delete(operator, id, reason).await?;
                Ok(json!({ "id": id.0, "status": "deleted" }))
            }
            Self::Hide { id, reason } => {
                let id = parse::<PostId>("id", &id)?;
                app.moderate_hide(operator, id, self::reason(reason)?).await?;
                Ok(json!({ "id": id.0, "status": "hidden" }))
            }
            Self::Show { id } => {
                let id = parse::<PostId>("id", &id)?;
                app.moderate_show(operator, id).await?;
                Ok(json!({ "id": id.0, "status": "shown" }))
            }
        }
    }
}

fn invitation(usable: &UsableInvitation) -> Value {
    let UsableInvitation { invitation, maker } = usable;
    json!({
        "id": invitation.id.to_string(),
        "username": maker.as_ref().map_or("operator", |maker| maker.username.as_str()),
        "role": invitation.role.as_str(),
        "uses_left": invitation.max_uses - invitation.uses,
        "created_at": invitation.created_at.to_string(),
        "expires_at": invitation.expires_at.to_string(),
    })
}

fn audit_entry(row: &AuditRow) -> Value {
    json!({
        "created_at": row.created_at.to_string(),
        "actor": row.actor,
        "network": row.network,
        "action": row.action,
        "username": row.username,
        "post_id": row.post_id.map(|post| post.0),
        "detail": row.detail,
    })
}

fn name(raw: &str) -> Result<Username, app::Error> {
    parse("username", raw)
}

fn reason(raw: String) -> Result<Reason, app::Error> {
    let parsed = Reason::parse(raw).map_err(|rule| app::Error::invalid("reason", rule))?;
    parsed.ok_or_else(|| app::Error::invalid("reason", "the reason is empty"))
}

fn parse<T: std::str::FromStr<Err = model::ValidationError>>(
    field: &'static str,
    raw: &str,
) -> Result<T, app::Error> {
    raw.parse().map_err(|rule| app::Error::invalid(field, rule))
}
