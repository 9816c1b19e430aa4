//! `pinhole user`: the users of the instance.

use app::{Actor, App, SessionInfo, UserRecord};
use clap::Subcommand;
use model::{Cursor, Limit, Reason, Role, Status, Timestamp, UserFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{name, parse, reason};
use crate::config::parse_duration;
use crate::links;

/// The names in one command: a longer list is sent in several, each of which the service answers in time.
pub(crate) const NAMES_AT_ONCE: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand, Serialize, Deserialize)]
pub(crate) enum UserCommand {
    /// List users, newest first
    List {
        /// Only those whose username begins with this
        #[arg(long, value_name = "TEXT")]
        query: Option<String>,
        /// Only those with this status: active, pending, suspended or hidden
        #[arg(long)]
        status: Option<String>,
        /// Only those with this role: member, moderator or owner
        #[arg(long)]
        role: Option<String>,
        /// Only those who joined from this address or prefix, such as 203.0.113.0/24
        #[arg(long)]
        network: Option<String>,
        /// Only those who joined since: 2h, 3d, 2026-11-14 or 2026-11-14T09:30:00Z
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        /// Only those with a lower id: the next page
        #[arg(long, value_name = "ID")]
        after: Option<i64>,
        /// Print only the usernames, one per line
        #[arg(long)]
        names: bool,
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
    /// Suspend users, who can still log in and read
    Suspend {
        /// The users; - reads names from the standard input, one per line
        #[arg(required = true, value_name = "USERNAME")]
        usernames: Vec<String>,
        /// Why; the users see it
        #[arg(long)]
        reason: String,
        /// Also hide the profiles and their posts
        #[arg(long)]
        hide_posts: bool,
    },
    /// End suspensions, or approve new accounts
    Restore {
        /// The users; - reads names from the standard input, one per line
        #[arg(required = true, value_name = "USERNAME")]
        usernames: Vec<String>,
    },
    /// Delete users with all posts, photos and likes
    Delete {
        /// The users; - reads names from the standard input, one per line
        #[arg(required = true, value_name = "USERNAME")]
        usernames: Vec<String>,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
        /// Do not ask before several users are deleted from a terminal
        #[arg(long)]
        yes: bool,
    },
    /// List a user's sessions
    Sessions {
        username: String,
        /// End all of them
        #[arg(long)]
        end: bool,
    },
}

/// What is decided about each of several users.
enum Decision {
    Suspend { reason: Reason, hide_posts: bool },
    Restore,
    Delete { reason: Option<Reason> },
}

impl UserCommand {
    pub(super) async fn run(self, app: &App, operator: &Actor, base_url: &str) -> Result<Value, app::Error> {
        match self {
            Self::List { query, status, role, network, since, limit, after, names: _ } => {
                let filter = UserFilter {
                    query,
                    status: status.map(|word| parse("status", &word)).transpose()?,
                    role: role.map(|word| parse("role", &word)).transpose()?,
                    network: network.map(|text| parse("network", &text)).transpose()?,
                    since: since.map(|text| time(&text, app.now())).transpose()?,
                };
                list(app, filter, limit, after.map(Cursor)).await
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
            Self::Suspend { usernames, reason, hide_posts } => {
                let decision = Decision::Suspend { reason: self::reason(reason)?, hide_posts };
                Ok(decision.for_each(app, operator, usernames).await)
            }
            Self::Restore { usernames } => Ok(Decision::Restore.for_each(app, operator, usernames).await),
            Self::Delete { usernames, reason, yes: _ } => {
                let decision = Decision::Delete { reason: reason.map(self::reason).transpose()? };
                Ok(decision.for_each(app, operator, usernames).await)
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

    /// The names of a command that takes several.
    pub(crate) fn usernames(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Suspend { usernames, .. }
            | Self::Restore { usernames }
            | Self::Delete { usernames, .. } => Some(usernames),
            _ => None,
        }
    }
}

impl Decision {
    /// The outcome for each user: the new status, or an error, which does not stop the others.
    async fn for_each(&self, app: &App, operator: &Actor, usernames: Vec<String>) -> Value {
        let mut outcomes = Vec::with_capacity(usernames.len());
        for username in usernames {
            outcomes.push(match self.carry_out(app, operator, &username).await {
                Ok(status) => json!({ "username": username, "status": status.as_str() }),
                Err(error) => json!({ "username": username, "error": error.to_string() }),
            });
        }
        outcomes.into()
    }

    async fn carry_out(&self, app: &App, operator: &Actor, username: &str) -> Result<Status, app::Error> {
        let username = name(username)?;
        match self {
            Self::Suspend { reason, hide_posts } => {
                app.suspend(operator, &username, *hide_posts, reason.clone()).await?;
                Ok(if *hide_posts { Status::Hidden } else { Status::Suspended })
            }
            Self::Restore => app.restore(operator, &username).await.map(|()| Status::Active),
            Self::Delete { reason } => {
                app.delete_account(operator, &username, reason.clone()).await.map(|()| Status::Deleted)
            }
        }
    }
}

/// The first `limit` users, and how many follow.
async fn list(
    app: &App,
    filter: UserFilter,
    limit: usize,
    mut before: Option<Cursor>,
) -> Result<Value, app::Error> {
    let page: Limit = Limit::MAX.to_string().parse().unwrap_or_default();
    let mut users: Vec<UserRecord> = Vec::new();
    loop {
        let (records, next) = app.users(filter.clone(), before, page).await?;
        users.extend(records);
        before = next;
        if users.len() >= limit || before.is_none() {
            break;
        }
    }
    users.truncate(limit);
    let more = match users.last() {
        Some(last) => app.count_users(filter, Cursor(last.user.id.0)).await?,
        None => 0,
    };
    let now = app.now();
    let line = |user: &UserRecord| {
        let mut line = record(user);
        line["age"] = age(now, user.user.created_at).into();
        line
    };
    Ok(json!({ "users": users.iter().map(line).collect::<Value>(), "more": more }))
}

fn record(record: &UserRecord) -> Value {
    let user = &record.user;
    json!({
        "id": user.id.0,
        "username": user.username.as_str(),
        "role": user.role.as_str(),
        "status": user.status.as_str(),
        "reason": record.status_reason.as_ref().map(Reason::as_str),
        "created_at": user.created_at.to_string(),
        "network": record.network.map(|network| network.to_string()),
        "posts": record.posts,
        "likes": record.likes,
    })
}

/// A point in time, or how long ago it was.
fn time(text: &str, now: Timestamp) -> Result<Timestamp, app::Error> {
    if let Ok(span) = parse_duration(text) {
        return Ok(now.minus(span));
    }
    Timestamp::parse_or_day(text)
        .map_err(|rule| app::Error::invalid("since", format!("{rule}, or a duration such as 30m, 2h or 3d")))
}

/// Such as `5m`, `3h` or `40d`.
fn age(now: Timestamp, created_at: Timestamp) -> String {
    let minutes = now.since(created_at).as_secs() / 60;
    match minutes {
        ..60 => format!("{minutes}m"),
        60..2_880 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1_440),
    }
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
