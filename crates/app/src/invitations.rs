//! Invitations: who may make them, and the one for the first owner.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{AuditAction, RecoveryCode, Refusal, Role, SessionId, Timestamp, User, ValidationError};
use store::InvitationRow;

use crate::actor::{Audited, Logged};
use crate::grants::max_invitation_uses;
use crate::rng::random;
use crate::{Actor, App, Caller, Error, Settings};

/// An invitation, without its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub id: SessionId,
    pub role: Role,
    pub uses: u32,
    pub max_uses: u32,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl From<InvitationRow> for Invitation {
    fn from(row: InvitationRow) -> Self {
        let InvitationRow { code_hash, user_id: _, role, uses, max_uses, created_at, expires_at } = row;
        Self { id: code_hash.session_id(), role, uses, max_uses, created_at, expires_at }
    }
}

/// An invitation with which others can join now, as moderators see it.
#[derive(Debug, Clone)]
pub struct UsableInvitation {
    pub invitation: Invitation,
    /// Who made it; `None` for the operator.
    pub maker: Option<User>,
}

const MAX_AGE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Invitations that a member may have at a time.
const MAX_OF_MEMBER: usize = 10;

impl App {
    /// Makes an invitation; returns the code, which is not stored.
    pub async fn invite(
        &self,
        actor: &Actor,
        role: Role,
        max_uses: u32,
        valid_for: Duration,
    ) -> Result<(RecoveryCode, Invitation), Error> {
        let most = max_invitation_uses(actor.role());
        if max_uses == 0 || max_uses > most {
            let message = format!("uses must be a number from 1 to {most}");
            return Err(Error::invalid("uses", Error::limit(Refusal::OutOfRange, most.into(), message)));
        }
        if valid_for.is_zero() || valid_for > MAX_AGE {
            let rule = Error::limit(Refusal::OutOfRange, 365, "days must be a number from 1 to 365");
            return Err(Error::invalid("days", rule));
        }
        let (code, row) = self.new_invitation(actor, role, max_uses, valid_for)?;
        let max = (actor.role() == Role::Member).then_some(MAX_OF_MEMBER);
        // The log is for decisions, and cannot be emptied.
        let audit = (actor.role() > Role::Member)
            .then(|| self.audit(actor, AuditAction::Invite).detail(format!("{max_uses} × {role}")));
        let is_created = self.0.store.create_invitation(row.clone(), max, audit.clone()).await?;
        audit.logged(if is_created { Ok((code, row.into())) } else { Err(too_many()) })
    }

    /// Fails unless the caller may invite members: owners and moderators always, members if allowed.
    pub async fn check_may_invite(&self, caller: &Caller) -> Result<(), Error> {
        caller.check_active()?;
        if caller.is_moderator() {
            return Ok(());
        }
        if !self.instance().await?.member_invitations {
            return Err(Error::Forbidden(
                Refusal::InvitationsOff,
                "members cannot invite others on this instance",
            ));
        }
        let open = self.0.store.invitations(Some(caller.user.id), self.0.clock.now()).await?;
        if open.len() >= MAX_OF_MEMBER { Err(too_many()) } else { Ok(()) }
    }

    /// The invitations that have not expired: all for owners and the operator, else those that the actor has
    /// made.
    pub async fn invitations(&self, actor: &Actor) -> Result<Vec<Invitation>, Error> {
        let rows = self.0.store.invitations(actor.restricted_to(), self.0.clock.now()).await?;
        Ok(rows.into_iter().map(Invitation::from).collect())
    }

    pub async fn delete_invitation(&self, actor: &Actor, id: SessionId) -> Result<(), Error> {
        let audit = (actor.role() > Role::Member)
            .then(|| self.audit(actor, AuditAction::DeleteInvitation).detail(id));
        let (by, now) = (actor.restricted_to(), self.0.clock.now());
        let keeps_used = actor.role() == Role::Member;
        let deleted = self.0.store.delete_invitation(by, id, keeps_used, now, audit.clone()).await?;
        audit.logged(if deleted { Ok(()) } else { Err(Error::NotFound("there is no such invitation")) })
    }

    /// The invitations with which others can join now, of every maker, the last to expire first. Moderators
    /// see those for members.
    pub async fn usable_invitations(&self, actor: &Actor) -> Result<Vec<UsableInvitation>, Error> {
        let mut rows = self.0.store.invitations(None, self.0.clock.now()).await?;
        rows.retain(|row| row.uses < row.max_uses && (row.role == Role::Member || actor.is_owner()));
        let makers: BTreeSet<_> = rows.iter().filter_map(|row| row.user_id).collect();
        let makers = self.0.store.authors(makers.into_iter().collect()).await?;
        let mut usable = Vec::with_capacity(rows.len());
        for row in rows {
            let maker = makers.iter().find(|user| Some(user.id) == row.user_id);
            if self.is_granted(&row, maker).await? {
                usable.push(UsableInvitation { maker: maker.cloned(), invitation: row.into() });
            }
        }
        Ok(usable)
    }

    /// Deletes an invitation of any maker. Moderators decide about those of members and their own.
    pub async fn revoke_invitation(&self, actor: &Actor, id: SessionId) -> Result<(), Error> {
        let missing = || Error::NotFound("there is no such invitation");
        let now = self.0.clock.now();
        let rows = self.0.store.invitations(None, now).await?;
        let row = rows.into_iter().find(|row| row.code_hash.session_id() == id).ok_or_else(missing)?;
        let maker = self.maker(&row).await?;
        let is_own = actor.user().is_some() && actor.user() == row.user_id;
        let is_of_member = maker.as_ref().is_some_and(|maker| self.role(maker) == Role::Member);
        if !(actor.is_owner() || is_own || is_of_member) {
            return Err(Error::Forbidden(
                Refusal::OwnersOnly,
                "only owners may revoke invitations of moderators and owners",
            ));
        }
        let mut audit = self.audit(actor, AuditAction::DeleteInvitation).detail(id);
        audit.username = maker.map(|maker| maker.username.to_string());
        let deleted = self.0.store.delete_invitation(None, id, false, now, Some(audit)).await?;
        if deleted { Ok(()) } else { Err(missing()) }
    }

    /// The code of a link that makes the first owner; `None` if there is one, or if the configuration names
    /// admins. Every node makes one; all stop working when one of them is used.
    pub async fn owner_invitation(&self) -> Result<Option<RecoveryCode>, Error> {
        if !self.0.settings.admins.is_empty() || self.0.store.has_owner().await? {
            return Ok(None);
        }
        let (code, row) =
            self.new_invitation(&Actor::operator(), Role::Owner, 1, Settings::OWNER_INVITATION_TTL)?;
        self.0.store.create_invitation(row, None, None).await?;
        Ok(Some(code))
    }

    /// The role that an invitation grants; an error if it is not valid.
    pub async fn invitation_role(&self, code: &str) -> Result<Role, Error> {
        let invalid = || {
            let advice =
                "this invitation is not valid: it is mistyped, has expired or is used up; ask for another";
            Error::invalid("invitation", ValidationError::refused(Refusal::InvitationInvalid, advice))
        };
        let code: RecoveryCode = code.parse().map_err(|_| invalid())?;
        let found = self.0.store.invitation(code.hash()).await?;
        let now = self.0.clock.now();
        let valid = found.filter(|row| row.uses < row.max_uses && row.expires_at > now);
        let row = valid.ok_or_else(invalid)?;
        let maker = self.maker(&row).await?;
        if self.is_granted(&row, maker.as_ref()).await? { Ok(row.role) } else { Err(invalid()) }
    }

    /// Who has made an invitation; `None` for the operator.
    async fn maker(&self, row: &InvitationRow) -> Result<Option<User>, Error> {
        match row.user_id {
            Some(id) => Ok(self.0.store.author(id).await?),
            None => Ok(None),
        }
    }

    fn new_invitation(
        &self,
        actor: &Actor,
        role: Role,
        max_uses: u32,
        valid_for: Duration,
    ) -> Result<(RecoveryCode, InvitationRow), Error> {
        let (code, now) = (RecoveryCode::new(random()?), self.0.clock.now());
        let row = InvitationRow {
            code_hash: code.hash(),
            user_id: actor.user(),
            role,
            uses: 0,
            max_uses,
            created_at: now,
            expires_at: now.plus(valid_for),
        };
        Ok((code, row))
    }
}

fn too_many() -> Error {
    let message = format!(
        "you have {MAX_OF_MEMBER} invitations, which is the limit; delete one, or wait until one expires"
    );
    Error::TooMany(Error::limit(Refusal::TooManyInvitations, MAX_OF_MEMBER as u64, message))
}
