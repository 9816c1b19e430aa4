//! What moderators and owners decide: the status and the role of users, and which posts are hidden. Each
//! decision is in the audit log of the same transaction.

use futures_util::FutureExt;
use model::{PhotoId, PostId, Reason, Role, Status, User, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::changes::Change;
use crate::column::Column;
use crate::error::Error;
use crate::invitations;
use crate::lock_key::LockKey;
use crate::posts::AccessCheck;
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::tx::Tx;
use crate::users::{self, FROM_USERS, USER_COLUMN_LIST, read_user};

statements! {
    // An account that is being deleted stays so.
    SET_STATUS = "UPDATE users SET status = $1, status_reason = $2 WHERE id = $3 AND status <> 'deleted'";
    SET_ROLE = "UPDATE users SET role = $1 WHERE id = $2 AND status <> 'deleted'";
    STATUS_REASON = "SELECT status_reason FROM users WHERE id = $1";
    // One who is suspended cannot run the instance.
    OWNERS = "SELECT id FROM users WHERE role = 'owner' AND role <> 'member' AND status = 'active'";
    // Changes nothing, but locks the rows: of two owners who leave at once, one sees the other's commit.
    LOCK_OWNERS = "UPDATE users SET role = role WHERE role = 'owner' AND role <> 'member'";
    SET_HIDDEN = "UPDATE posts SET hidden_reason = $1 WHERE id = $2 RETURNING photo_id";
    HIDDEN_BY_USER = "SELECT id, hidden_reason FROM posts WHERE user_id = $1 AND hidden_reason IS NOT NULL
        ORDER BY id DESC LIMIT 100";
    PAGE = sql!("SELECT ", USER_COLUMN_LIST, FROM_USERS, "WHERE u.id < $1 ORDER BY u.id DESC LIMIT $2");
    PAGE_BY_STATUS = sql!("SELECT ", USER_COLUMN_LIST, FROM_USERS,
        "WHERE u.status = $1 AND u.status <> 'active' AND u.id < $2 ORDER BY u.id DESC LIMIT $3");
    POST_COUNT = "SELECT count(*) FROM posts WHERE user_id = $1";
    LIKE_COUNT = "SELECT count(*) FROM likes WHERE user_id = $1";
    USER_TOTALS = "SELECT (SELECT count(*) FROM users WHERE status <> 'deleted'),
        (SELECT count(*) FROM users WHERE status = 'pending' AND status <> 'active'),
        (SELECT count(*) FROM users WHERE status IN ('suspended', 'hidden') AND status <> 'active'),
        (SELECT count(*) FROM users WHERE status = 'deleted' AND status <> 'active'),
        (SELECT count(*) FROM posts), (SELECT count(*) FROM likes)";
}

/// Totals of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstanceTotals {
    pub users: u64,
    pub pending: u64,
    pub suspended: u64,
    /// Accounts whose rows and files are being deleted.
    pub deleting: u64,
    pub posts: u64,
    pub likes: u64,
}

/// The result of a change of a role or a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleOutcome {
    Changed,
    /// An instance keeps at least one owner.
    LastOwner,
    Missing,
}

impl Store {
    pub async fn set_status(
        &self,
        user: UserId,
        status: Status,
        reason: Option<Reason>,
        audit: NewAuditEntry,
    ) -> Result<RoleOutcome, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                if status != Status::Active && is_last_owner(tx, user).await? {
                    return Ok(RoleOutcome::LastOwner);
                }
                let reason = reason.as_ref().map(Reason::as_str);
                let params = [status.value(), reason.into(), user.into()];
                if tx.execute(SET_STATUS, &params).await? == 0 {
                    return Ok(RoleOutcome::Missing);
                }
                tx.record_change(Change::Visibility(user));
                audit_log::append(tx, &audit).await?;
                Ok(RoleOutcome::Changed)
            }
            .boxed()
        })
        .await
    }

    pub async fn set_role(
        &self,
        user: UserId,
        role: Role,
        audit: NewAuditEntry,
    ) -> Result<RoleOutcome, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                if role != Role::Owner && is_last_owner(tx, user).await? {
                    return Ok(RoleOutcome::LastOwner);
                }
                if tx.execute(SET_ROLE, &[role.value(), user.into()]).await? == 0 {
                    return Ok(RoleOutcome::Missing);
                }
                if role == Role::Owner {
                    invitations::delete_for_owner(tx).await?;
                }
                tx.record_change(Change::User(user));
                audit_log::append(tx, &audit).await?;
                Ok(RoleOutcome::Changed)
            }
            .boxed()
        })
        .await
    }

    /// Hides a post from all but its author and moderators, or shows it again.
    pub async fn set_post_hidden(
        &self,
        id: PostId,
        reason: Option<Reason>,
        audit: NewAuditEntry,
    ) -> Result<AccessCheck<PhotoId>, Error> {
        self.write(LockKey::Post(id), move |tx| {
            async move {
                let params = [reason.as_ref().map(Reason::as_str).into(), id.into()];
                let Some(photo) = tx.first(SET_HIDDEN, &params, |row| row.photo_id(0)).await? else {
                    return Ok(AccessCheck::Missing);
                };
                tx.record_change(Change::Post(id));
                tx.record_change(Change::Photo(photo));
                audit_log::append(tx, &audit).await?;
                Ok(AccessCheck::Granted(photo))
            }
            .boxed()
        })
        .await
    }

    /// Why the user is suspended.
    pub async fn status_reason(&self, user: UserId) -> Result<Option<Reason>, Error> {
        let reason = self.read(move |tx| {
            async move { tx.first(STATUS_REASON, &[user.into()], |row| Reason::read_nullable(row, 0)).await }
                .boxed()
        });
        Ok(reason.await?.flatten())
    }

    /// The newest hundred posts of a user that moderators have hidden, with their reasons.
    pub async fn hidden_posts_by(&self, user: UserId) -> Result<Vec<(PostId, Reason)>, Error> {
        self.read(move |tx| {
            async move {
                let read = |row: &Row<'_, '_>| Ok((row.post_id(0)?, Reason::read(row, 1)?));
                tx.all(HIDDEN_BY_USER, &[user.into()], read).await
            }
            .boxed()
        })
        .await
    }

    /// Users with an id below `before`, newest first, at most `limit`; all, or those with a status.
    pub async fn users(
        &self,
        status: Option<Status>,
        before: i64,
        limit: usize,
    ) -> Result<(Vec<User>, bool), Error> {
        let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        self.read(move |tx| {
            async move {
                let read = |row: &Row<'_, '_>| read_user(row, 0);
                match status {
                    Some(status) => {
                        let params = [status.value(), before.into(), fetched.into()];
                        tx.page(limit, (PAGE_BY_STATUS, &params), read).await
                    }
                    None => tx.page(limit, (PAGE, &[before.into(), fetched.into()]), read).await,
                }
            }
            .boxed()
        })
        .await
    }

    /// The number of a user's posts, and of the posts that the user likes.
    pub async fn user_counts(&self, user: UserId) -> Result<(u64, u64), Error> {
        self.read_long(move |tx| {
            async move {
                let posts = tx.first(POST_COUNT, &[user.into()], |row| row.unsigned(0)).await?;
                let likes = tx.first(LIKE_COUNT, &[user.into()], |row| row.unsigned(0)).await?;
                Ok((posts.unwrap_or(0), likes.unwrap_or(0)))
            }
            .boxed()
        })
        .await
    }

    /// Scans whole tables.
    pub async fn instance_totals(&self) -> Result<InstanceTotals, Error> {
        let totals = self.read_long(|tx| {
            tx.first(USER_TOTALS, &[], |row| {
                Ok(InstanceTotals {
                    users: row.unsigned(0)?,
                    pending: row.unsigned(1)?,
                    suspended: row.unsigned(2)?,
                    deleting: row.unsigned(3)?,
                    posts: row.unsigned(4)?,
                    likes: row.unsigned(5)?,
                })
            })
            .boxed()
        });
        Ok(totals.await?.unwrap_or_default())
    }

    /// Whether any user is an owner.
    pub async fn has_owner(&self) -> Result<bool, Error> {
        Ok(self.read(|tx| tx.first(OWNERS, &[], |_| Ok(())).boxed()).await?.is_some())
    }
}

/// Whether the user is the only owner, with the rows of all owners locked.
pub(crate) async fn is_last_owner(tx: &mut Tx<'_>, user: UserId) -> Result<bool, Error> {
    if users::by_id(tx, user).await?.role != Role::Owner {
        return Ok(false);
    }
    tx.execute(LOCK_OWNERS, &[]).await?;
    Ok(tx.all(OWNERS, &[], |row| row.user_id(0)).await? == [user])
}
