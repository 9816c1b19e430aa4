//! Who makes a decision of moderation: a moderator or an owner, or the operator on the command line.

use std::net::IpAddr;

use model::{AuditAction, Network, PostId, Refusal, Role, User, UserId};
use store::NewAuditEntry;

use crate::{App, Caller, Client, Error};

#[derive(Debug, Clone)]
pub struct Actor {
    name: String,
    network: Option<String>,
    user: Option<UserId>,
    role: Role,
    /// Whether it is the operator, or a user who has sent their password.
    is_confirmed: bool,
}

impl Actor {
    /// The name of the operator, which no user can have.
    pub const OPERATOR: &str = "operator";

    /// The operator, who may do everything.
    pub fn operator() -> Self {
        Self { name: Self::OPERATOR.into(), network: None, user: None, role: Role::Owner, is_confirmed: true }
    }

    /// Fails unless the caller has at least this role.
    pub fn new(caller: &Caller, address: IpAddr, least: Role) -> Result<Self, Error> {
        caller.check_role(least)?;
        Ok(Self {
            name: caller.user.username.to_string(),
            network: Some(Network::of(address).to_string()),
            user: Some(caller.user.id),
            role: caller.role,
            is_confirmed: false,
        })
    }

    pub(crate) fn user(&self) -> Option<UserId> {
        self.user
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn is_owner(&self) -> bool {
        self.role == Role::Owner
    }

    /// Fails unless the password has confirmed the act: a stolen session alone must not take over the
    /// instance.
    pub(crate) fn check_confirmed(&self) -> Result<(), Error> {
        if self.is_confirmed { Ok(()) } else { Err(Error::Unconfirmed(Refusal::PasswordRequired)) }
    }

    /// The user to whose items the actor is restricted; owners and the operator are not.
    pub(crate) fn restricted_to(&self) -> Option<UserId> {
        self.user.filter(|_| self.role < Role::Owner)
    }

    /// Moderators decide about members, owners about all, but not about themselves.
    pub(crate) fn check_target(&self, target: &User) -> Result<(), Error> {
        if self.user == Some(target.id) {
            return Err(Error::Forbidden(Refusal::Yourself, "you cannot do this to yourself"));
        }
        if self.role < Role::Owner && target.role >= self.role {
            return Err(Error::Forbidden(
                Refusal::OwnersOnly,
                "only owners may do this to moderators and owners",
            ));
        }
        Ok(())
    }
}

impl App {
    /// The actor with their password, for acts that need it.
    pub async fn confirm(
        &self,
        client: Client,
        caller: &Caller,
        actor: Actor,
        password: String,
    ) -> Result<Actor, Error> {
        match self.confirm_password(client, caller, "current_password", password).await {
            Ok(_) => Ok(Actor { is_confirmed: true, ..actor }),
            Err(Error::WrongPassword { .. }) => Err(Error::Unconfirmed(Refusal::PasswordWrong)),
            Err(error) => Err(error),
        }
    }

    /// An entry of the audit log.
    pub(crate) fn audit(&self, actor: &Actor, action: AuditAction) -> NewAuditEntry {
        NewAuditEntry {
            created_at: self.0.clock.now(),
            actor: actor.name.clone(),
            network: actor.network.clone(),
            action: action.as_str(),
            username: None,
            post_id: None,
            detail: None,
        }
    }
}

/// Completes an entry.
pub(crate) trait Audited: Sized {
    fn about(self, user: &User) -> Self;
    fn about_post(self, post: PostId) -> Self;
    fn detail(self, detail: impl ToString) -> Self;
}

/// Logs an entry that is committed, or nothing without one.
pub(crate) trait Logged {
    fn log(&self);

    /// Logs the entry if what it is about was done.
    fn logged<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if outcome.is_ok() {
            self.log();
        }
        outcome
    }
}

impl Logged for NewAuditEntry {
    fn log(&self) {
        let Self { actor, action, username, post_id, detail, .. } = self;
        let post_id = post_id.map(|post| post.0);
        tracing::info!(actor, action, username, post_id, detail, "audit entry");
    }
}

impl Logged for Option<NewAuditEntry> {
    fn log(&self) {
        if let Some(entry) = self {
            entry.log();
        }
    }
}

impl Audited for NewAuditEntry {
    fn about(self, user: &User) -> Self {
        Self { username: Some(user.username.to_string()), ..self }
    }

    fn about_post(self, post: PostId) -> Self {
        Self { post_id: Some(post), ..self }
    }

    fn detail(self, detail: impl ToString) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }
}
