//! Decisions of moderators, owners and the operator. Each is in the audit log.

use model::{
    AuditAction, Cursor, Limit, PostId, Reason, RecoveryCode, Refusal, Role, Status, User, UserFilter,
    Username,
};
use store::{
    AccessCheck, AuditRow, InstanceTotals, NewAuditEntry, NewUser, RecoveryCodeRow, RoleOutcome, UserRecord,
};

use crate::actor::{Audited, Logged};
use crate::detached::detached;
use crate::rng::random;
use crate::{Actor, App, Client, Error, SessionInfo, Settings};

const LAST_OWNER: Error = Error::Conflict {
    field: None,
    refusal: Refusal::LastOwner,
    message: "this is the only owner; make another user an owner first",
};

impl App {
    /// A user who exists, hidden or not.
    pub(crate) async fn target(&self, username: &Username) -> Result<User, Error> {
        let user = self.0.store.user(username).await?.ok_or(Error::NO_SUCH_USER)?;
        Ok(User { role: self.role(&user), ..user })
    }

    /// A suspended user can log in and read, but not write; `hide` also hides their profile and posts. A
    /// second suspension replaces the first.
    pub async fn suspend(
        &self,
        actor: &Actor,
        username: &Username,
        hide: bool,
        reason: Reason,
    ) -> Result<(), Error> {
        let status = if hide { Status::Hidden } else { Status::Suspended };
        let action = if hide { AuditAction::SuspendAndHide } else { AuditAction::Suspend };
        let user = self.target(username).await?;
        actor.check_target(&user)?;
        let audit = self.audit(actor, action).about(&user).detail(&reason);
        self.set_status(user, status, Some(reason), audit).await
    }

    /// Ends a suspension, or approves an account.
    pub async fn restore(&self, actor: &Actor, username: &Username) -> Result<(), Error> {
        let user = self.target(username).await?;
        actor.check_target(&user)?;
        let action = match user.status {
            Status::Active => {
                return Err(Error::Conflict {
                    field: None,
                    refusal: Refusal::ActiveAlready,
                    message: "this account is active already",
                });
            }
            Status::Pending => AuditAction::Approve,
            _ => AuditAction::Restore,
        };
        let audit = self.audit(actor, action).about(&user);
        self.set_status(user, Status::Active, None, audit).await
    }

    async fn set_status(
        &self,
        user: User,
        status: Status,
        reason: Option<Reason>,
        audit: NewAuditEntry,
    ) -> Result<(), Error> {
        let user = User { status, ..user };
        let grants = self.grants(&user).await?;
        let set = self.0.store.set_status(user.id, status, reason, grants, audit.clone());
        audit.logged(changed(set.await?))
    }

    pub async fn set_role(&self, actor: &Actor, username: &Username, role: Role) -> Result<(), Error> {
        let user = self.target(username).await?;
        actor.check_confirmed()?;
        let audit = self.audit(actor, AuditAction::SetRole).about(&user).detail(role);
        let grants = self.grants(&User { role, ..user.clone() }).await?;
        audit.logged(changed(self.0.store.set_role(user.id, role, grants, audit.clone()).await?))
    }

    pub async fn remove_profile_photo(
        &self,
        actor: &Actor,
        username: &Username,
        reason: Reason,
    ) -> Result<(), Error> {
        let user = self.target(username).await?;
        actor.check_target(&user)?;
        let audit = self.audit(actor, AuditAction::RemoveProfilePhoto).about(&user).detail(&reason);
        let (app, now, entry) = (self.clone(), self.0.clock.now(), audit.clone());
        let removed = detached(async move {
            match app.0.store.delete_profile_photo(user.id, now, Some(entry)).await? {
                Some(photo) => app.delete_photo_files(photo).await,
                None => return Err(Error::NotFound("this user has no profile photo")),
            }
            Ok(())
        });
        audit.logged(removed.await)
    }

    /// Hides a post from all but its author, who sees the reason, and moderators.
    pub async fn moderate_hide(&self, actor: &Actor, id: PostId, reason: Reason) -> Result<(), Error> {
        let author = self.moderated_author(actor, id).await?;
        let audit = self.audit(actor, AuditAction::HidePost).about(&author).about_post(id).detail(&reason);
        self.set_post_hidden(id, Some(reason), audit).await
    }

    /// Shows a hidden post again.
    pub async fn moderate_show(&self, actor: &Actor, id: PostId) -> Result<(), Error> {
        let author = self.moderated_author(actor, id).await?;
        let audit = self.audit(actor, AuditAction::ShowPost).about(&author).about_post(id);
        self.set_post_hidden(id, None, audit).await
    }

    /// Deletes a post of another user.
    pub async fn moderate_delete(
        &self,
        actor: &Actor,
        id: PostId,
        reason: Option<Reason>,
    ) -> Result<(), Error> {
        let author = self.moderated_author(actor, id).await?;
        let mut audit = self.audit(actor, AuditAction::DeletePost).about(&author).about_post(id);
        audit.detail = reason.map(|reason| reason.to_string());
        audit.logged(self.delete_post_as(id, None, Some(audit.clone())).await)
    }

    async fn moderated_author(&self, actor: &Actor, id: PostId) -> Result<User, Error> {
        let author = self.0.store.post_author(id).await?.ok_or(Error::NO_SUCH_POST)?;
        let author = self.0.store.author(author).await?.filter(|author| author.status != Status::Deleted);
        let author = author.ok_or(Error::NO_SUCH_POST)?;
        let author = User { role: self.role(&author), ..author };
        actor.check_target(&author)?;
        Ok(author)
    }

    async fn set_post_hidden(
        &self,
        id: PostId,
        reason: Option<Reason>,
        audit: NewAuditEntry,
    ) -> Result<(), Error> {
        match self.0.store.set_post_hidden(id, reason, audit.clone()).await? {
            AccessCheck::Granted(_) => audit.logged(Ok(())),
            AccessCheck::Forbidden | AccessCheck::Inactive | AccessCheck::Missing => Err(Error::NO_SUCH_POST),
        }
    }

    /// A code with which the user can set a new password, once and within a day. Ends all sessions, codes and
    /// links from before; the old password stays until then.
    pub async fn reset_code(
        &self,
        actor: &Actor,
        username: &Username,
    ) -> Result<(User, RecoveryCode), Error> {
        let user = self.target(username).await?;
        actor.check_confirmed()?;
        let (code, now) = (RecoveryCode::new(random()?), self.0.clock.now());
        let row = RecoveryCodeRow {
            code_hash: code.hash(),
            user_id: user.id,
            created_at: now,
            expires_at: Some(now.plus(Settings::RESET_TTL)),
            made_by: actor.user(),
        };
        let audit = self.audit(actor, AuditAction::ResetPassword).about(&user);
        self.0.store.reset_password(row, audit.clone()).await?;
        audit.logged(Ok((user, code)))
    }

    /// Creates a user who sets a password by the returned code.
    pub async fn add_user(
        &self,
        actor: &Actor,
        username: &str,
        role: Role,
    ) -> Result<(User, RecoveryCode), Error> {
        let username = Username::parse_new(username).map_err(|rule| Error::invalid("username", rule))?;
        let (code, now) = (RecoveryCode::new(random()?), self.0.clock.now());
        // A password that no one knows.
        let password = RecoveryCode::new(random()?).reveal();
        let password_hash = self.0.passwords.hash(Client::LOCAL, password).await?;
        let audit =
            NewAuditEntry { username: Some(username.to_string()), ..self.audit(actor, AuditAction::AddUser) };
        let new = NewUser { role, ..NewUser::new(username, password_hash, now) };
        let expires_at = now.plus(Settings::RESET_TTL);
        let audit = audit.detail(role);
        let added = self.0.store.add_user(new, code.hash(), expires_at, audit.clone()).await?;
        let taken = Error::Conflict {
            field: Some("username"),
            refusal: Refusal::UsernameTaken,
            message: "this username is taken; choose another",
        };
        Ok((audit.logged(added.ok_or(taken))?, code))
    }

    /// The sessions of a user, for the operator.
    pub async fn sessions_of(&self, username: &Username) -> Result<Vec<SessionInfo>, Error> {
        let user = self.target(username).await?;
        self.session_infos(user.id, None).await
    }

    /// Ends all sessions of a user; returns how many there were.
    pub async fn end_sessions_of(&self, actor: &Actor, username: &Username) -> Result<usize, Error> {
        let user = self.target(username).await?;
        let audit = self.audit(actor, AuditAction::EndSessions).about(&user);
        audit.logged(Ok(self.0.store.end_sessions(user.id, audit.clone()).await?))
    }

    /// Entries of the audit log, newest first.
    pub async fn audit_log(
        &self,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<(Vec<AuditRow>, Option<Cursor>), Error> {
        Ok(self.0.store.audit_log(before, limit).await?)
    }

    /// The users who match a filter, newest first.
    pub async fn users(
        &self,
        filter: UserFilter,
        before: Option<Cursor>,
        limit: Limit,
    ) -> Result<(Vec<UserRecord>, Option<Cursor>), Error> {
        let (before, owners) = (before.map_or(i64::MAX, |cursor| cursor.0), &self.0.settings.admins);
        let (mut records, more) = self.0.store.users(filter, owners, before, limit.get()).await?;
        let next = records.last().filter(|_| more).map(|record| Cursor(record.user.id.0));
        for record in &mut records {
            record.user.role = self.role(&record.user);
        }
        Ok((records, next))
    }

    /// How many users match a filter, after the page that `before` ends.
    pub async fn count_users(&self, filter: UserFilter, before: Cursor) -> Result<u64, Error> {
        Ok(self.0.store.count_users(filter, &self.0.settings.admins, before.0).await?)
    }

    pub async fn user_record(&self, username: &Username) -> Result<UserRecord, Error> {
        let record = self.0.store.user_record(username).await?;
        let mut record = record.ok_or(Error::NO_SUCH_USER)?;
        record.user.role = self.role(&record.user);
        Ok(record)
    }

    pub async fn instance_totals(&self) -> Result<InstanceTotals, Error> {
        Ok(self.0.store.instance_totals().await?)
    }
}

fn changed(outcome: RoleOutcome) -> Result<(), Error> {
    match outcome {
        RoleOutcome::Changed => Ok(()),
        RoleOutcome::LastOwner => Err(LAST_OWNER),
        RoleOutcome::Missing => Err(Error::NO_SUCH_USER),
    }
}
