//! The commands of the operator, such as `pinhole user suspend`. They run in the service through a socket in
//! the data folder, since SQLite's readers only notice commits of their own process; or in the process of the
//! command, if no service runs on the data folder.

mod import_account;
mod render;
mod socket;

use std::time::Duration;

use app::{Actor, App, AuditRow, SessionInfo, UserRecord};
use clap::Subcommand;
use model::{Limit, PostId, Reason, Role, Status, User, Username};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::links;

pub(crate) use import_account::{ImportCommand, import_account};
pub(crate) use render::render;
pub(crate) use socket::{OperatorSocket, call, send_archive};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A command of the operator.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum OperatorCommand {
    User(UserCommand),
    Post(PostCommand),
    Invite(InviteCommand),
    Audit {
        limit: usize,
    },
    Stats,
    /// The archive follows the command.
    ImportAccount(ImportCommand),
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand, Serialize, Deserialize)]
pub(crate) enum UserCommand {
    /// List users, newest first
    List {
        /// Only those with this status: active, pending, suspended or hidden
        #[arg(long)]
        status: Option<String>,
        /// How many at most
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// Show a user's role, status and counts
    Show { username: String },
    /// Create a user, and print a link to set the password
    Add {
        username: String,
        /// Make the user an owner
        #[arg(long, conflicts_with = "moderator")]
        owner: bool,
        /// Make the user a moderator
        #[arg(long)]
        moderator: bool,
    },
    /// Set a user's role: member, moderator or owner
    Role {
        username: String,
        #[arg(value_parser = ["member", "moderator", "owner"])]
        role: String,
    },
    /// Print a link with which a user can set a new password, once and within 24 hours
    Reset { username: String },
    /// Suspend a user, who can still log in and read
    Suspend {
        username: String,
        /// Why; the user sees it
        #[arg(long)]
        reason: String,
        /// Also hide the profile and its posts
        #[arg(long)]
        hide_posts: bool,
    },
    /// End a suspension, or approve a new account
    Restore { username: String },
    /// Delete a user with all posts, photos and likes
    Delete {
        username: String,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// List a user's sessions
    Sessions {
        username: String,
        /// End all of them
        #[arg(long)]
        end: bool,
    },
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

impl UserCommand {
    async fn run(self, app: &App, operator: &Actor, base_url: &str) -> Result<Value, app::Error> {
        match self {
            Self::List { status, limit } => {
                let status = status.map(|word| parse::<Status>("status", &word)).transpose()?;
                list(app, status, limit).await
            }
            Self::Show { username } => Ok(record(&app.user_record(&name(&username)?).await?)),
            Self::Add { username, owner, moderator } => {
                let role = match (owner, moderator) {
                    (true, _) => Role::Owner,
                    (false, true) => Role::Moderator,
                    (false, false) => Role::Member,
                };
                let (user, code) = app.add_user(operator, &username, role).await?;
                let url = links::reset(base_url, &user.username, &code);
                Ok(json!({ "username": user.username.as_str(), "role": role.as_str(), "url": url }))
            }
            Self::Role { username, role } => {
                app.set_role(operator, &name(&username)?, parse("role", &role)?).await?;
                Ok(json!({ "username": username, "role": role }))
            }
            Self::Reset { username } => {
                let (user, code) = app.reset_code(operator, &name(&username)?).await?;
                let url = links::reset(base_url, &user.username, &code);
                Ok(json!({ "username": user.username.as_str(), "url": url }))
            }
            Self::Suspend { username, reason, hide_posts } => {
                app.suspend(operator, &name(&username)?, hide_posts, self::reason(reason)?).await?;
                let status = if hide_posts { Status::Hidden } else { Status::Suspended };
                Ok(json!({ "username": username, "status": status.as_str() }))
            }
            Self::Restore { username } => {
                app.restore(operator, &name(&username)?).await?;
                Ok(json!({ "username": username, "status": Status::Active.as_str() }))
            }
            Self::Delete { username, reason } => {
                let reason = reason.map(self::reason).transpose()?;
                app.delete_account(operator, &name(&username)?, reason).await?;
                Ok(json!({ "username": username, "status": Status::Deleted.as_str() }))
            }
            Self::Sessions { username, end: true } => {
                let ended = app.end_sessions_of(operator, &name(&username)?).await?;
                Ok(json!({ "username": username, "ended": ended }))
            }
            Self::Sessions { username, end: false } => {
                let sessions = app.sessions_of(&name(&username)?).await?;
                Ok(sessions.iter().map(session).collect())
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

async fn list(app: &App, status: Option<Status>, limit: usize) -> Result<Value, app::Error> {
    let (mut rows, mut before): (Vec<Value>, _) = (Vec::new(), None);
    let page: Limit = Limit::MAX.to_string().parse().unwrap_or_default();
    loop {
        let (users, next) = app.users(status, before, page).await?;
        rows.extend(users.iter().filter(|user| user.status != Status::Deleted).map(user_line));
        before = next;
        if rows.len() >= limit || before.is_none() {
            rows.truncate(limit);
            return Ok(rows.into());
        }
    }
}

fn user_line(user: &User) -> Value {
    json!({
        "id": user.id.0,
        "username": user.username.as_str(),
        "role": user.role.as_str(),
        "status": user.status.as_str(),
        "created_at": user.created_at.to_string(),
    })
}

fn record(record: &UserRecord) -> Value {
    let mut value = user_line(&record.user);
    value["reason"] = record.status_reason.as_ref().map(Reason::as_str).into();
    value["posts"] = record.posts.into();
    value["likes"] = record.likes.into();
    value
}

fn session(session: &SessionInfo) -> Value {
    json!({
        "id": session.id.to_string(),
        "client": session.client,
        "network": session.network,
        "created_at": session.created_at.to_string(),
        "last_used_at": session.last_used_at.to_string(),
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
