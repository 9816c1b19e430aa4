//! Invitations: links that allow to join a number of times, until they expire.

use futures_util::FutureExt;
use model::{Role, SessionId, Timestamp, TokenHash, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::column::Column;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;

table! {
    /// A row of `invitations`. `user_id` is who made it; NULL for the operator.
    InvitationRow = "invitations", key (code_hash) {
        code_hash: TokenHash,
        user_id: Option<UserId>,
        role: Role,
        uses: u32,
        max_uses: u32,
        created_at: Timestamp,
        expires_at: Timestamp,
    }
}

statements! {
    // Changes nothing, but locks the row.
    LOCK = "UPDATE invitations SET uses = uses WHERE code_hash = $1 AND uses < max_uses AND expires_at > $2
        AND (user_id IS NULL OR EXISTS (SELECT 1 FROM users u WHERE u.id = invitations.user_id AND u.status = 'active'))
        RETURNING role";
    FIND = sql!("SELECT ", InvitationRow::COLUMN_LIST, " FROM invitations WHERE code_hash = $1");
    USE = "UPDATE invitations SET uses = uses + 1 WHERE code_hash = $1";
    // The newest thousand at most, since expired ones are swept.
    CURRENT = sql!("SELECT ", InvitationRow::COLUMN_LIST, " FROM invitations WHERE expires_at > $1 ORDER BY expires_at DESC LIMIT 1000");
    BY_USER = sql!("SELECT ", InvitationRow::COLUMN_LIST, " FROM invitations WHERE user_id = $1");
    DELETE = "DELETE FROM invitations WHERE code_hash = $1";
    CLOSE = "UPDATE invitations SET max_uses = uses WHERE code_hash = $1 AND uses > 0";
    DELETE_FOR_OWNER = "DELETE FROM invitations WHERE role = 'owner' AND user_id IS NULL AND expires_at > 0";
    SWEEP = "DELETE FROM invitations WHERE expires_at < $1";
}

impl Store {
    /// Creates an invitation; `false` if its maker has `max` already that have not expired.
    pub async fn create_invitation(
        &self,
        new: InvitationRow,
        max: Option<usize>,
        audit: Option<NewAuditEntry>,
    ) -> Result<bool, Error> {
        self.write(new.user_id.map_or(LockKey::Unshared, LockKey::User), move |tx| {
            async move {
                if let (Some(user), Some(max)) = (new.user_id, max)
                    && by_user(tx, user, new.created_at).await?.len() >= max
                {
                    return Ok(false);
                }
                tx.execute(InvitationRow::INSERT, &new.values()).await?;
                if let Some(audit) = &audit {
                    audit_log::append(tx, audit).await?;
                }
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    pub async fn invitation(&self, code: TokenHash) -> Result<Option<InvitationRow>, Error> {
        self.read(move |tx| {
            async move { tx.first(FIND, &[(&code).into()], InvitationRow::read).await }.boxed()
        })
        .await
    }

    /// The invitations that have not expired: all, or those of one user.
    pub async fn invitations(&self, by: Option<UserId>, now: Timestamp) -> Result<Vec<InvitationRow>, Error> {
        self.read(move |tx| {
            async move {
                match by {
                    Some(user) => by_user(tx, user, now).await,
                    None => tx.all(CURRENT, &[now.into()], InvitationRow::read).await,
                }
            }
            .boxed()
        })
        .await
    }

    /// Deletes an invitation: any, or one of a user; false if there is none with this id. With `keeps_used`,
    /// one that was used stays until it expires, without further uses, so that its maker cannot make another
    /// instead.
    pub async fn delete_invitation(
        &self,
        by: Option<UserId>,
        id: SessionId,
        keeps_used: bool,
        now: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<bool, Error> {
        let rows = self.invitations(by, now).await?;
        let Some(code) = rows.iter().map(|row| row.code_hash).find(|code| code.session_id() == id) else {
            return Ok(false);
        };
        self.write_freeing(LockKey::Unshared, move |tx| {
            async move {
                let closed = keeps_used && tx.execute(CLOSE, &[(&code).into()]).await? > 0;
                let deleted = closed || tx.execute(DELETE, &[(&code).into()]).await? > 0;
                if let Some(audit) = audit.as_ref().filter(|_| deleted) {
                    audit_log::append(tx, audit).await?;
                }
                Ok(deleted)
            }
            .boxed()
        })
        .await
    }
}

async fn by_user(tx: &mut Tx<'_>, user: UserId, now: Timestamp) -> Result<Vec<InvitationRow>, Error> {
    let mut rows = tx.all(BY_USER, &[user.into()], InvitationRow::read).await?;
    rows.retain(|row| row.expires_at > now);
    Ok(rows)
}

/// The role that a valid invitation grants, with its row locked.
pub(crate) async fn lock(tx: &mut Tx<'_>, code: TokenHash, now: Timestamp) -> Result<Option<Role>, Error> {
    tx.first(LOCK, &[(&code).into(), now.into()], |row| Role::read(row, 0)).await
}

pub(crate) async fn count_use(tx: &mut Tx<'_>, code: TokenHash, role: Role) -> Result<(), Error> {
    tx.execute(USE, &[(&code).into()]).await?;
    if role == Role::Owner {
        delete_for_owner(tx).await?;
    }
    Ok(())
}

/// Deletes the links for the first owner, now that there is one.
pub(crate) async fn delete_for_owner(tx: &mut Tx<'_>) -> Result<(), Error> {
    tx.execute(DELETE_FOR_OWNER, &[]).await.map(drop)
}

pub(crate) async fn sweep(tx: &mut Tx<'_>, now: Timestamp) -> Result<usize, Error> {
    tx.execute(SWEEP, &[now.into()]).await
}
