//! The authenticated user of a request, and what they may do.

use std::sync::Arc;

use model::{Refusal, Role, Status, TokenHash, User};

use crate::client::Client;
use crate::error::Error;

/// The authenticated user of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    pub user: Arc<User>,
    /// From the database, or an owner by the configuration.
    pub role: Role,
    /// Where the request comes from, for the fair queues.
    pub(crate) client: Client,
    pub(crate) token: TokenHash,
}

impl Caller {
    pub fn is_moderator(&self) -> bool {
        self.role >= Role::Moderator && self.user.status == Status::Active
    }

    /// Fails unless the caller has at least this role.
    pub fn check_role(&self, least: Role) -> Result<(), Error> {
        if self.role < least {
            return Err(match least {
                Role::Owner => Error::Forbidden(Refusal::OwnersOnly, "only owners may do this"),
                _ => Error::Forbidden(Refusal::ModeratorsOnly, "only moderators may do this"),
            });
        }
        self.check_active()
    }

    /// Fails if the account is suspended or waits for approval.
    pub fn check_active(&self) -> Result<(), Error> {
        match self.user.status {
            Status::Active => Ok(()),
            status => Err(Error::Inactive(status)),
        }
    }

    /// Logs what the caller has done to their account.
    pub(crate) fn log(&self, event: &'static str) {
        tracing::info!(user_id = self.user.id.0, username = self.user.username.as_str(), "{event}");
    }

    /// Whether the caller sees this user's profile and posts.
    pub(crate) fn sees(&self, user: &User) -> bool {
        user.status.is_shown()
            || user.status != Status::Deleted && (self.is_moderator() || user.id == self.user.id)
    }
}

/// Whether a caller sees this user's profile and posts.
pub(crate) fn is_seen(caller: Option<&Caller>, user: &User) -> bool {
    user.status.is_shown() || caller.is_some_and(|caller| caller.sees(user))
}
