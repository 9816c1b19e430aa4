//! What moderators and owners decide: the status and the role of users, and which posts are hidden. Each
//! decision is in the audit log of the same transaction.

use futures_util::FutureExt;
use model::{Network, PhotoId, PostId, Reason, Role, Status, Timestamp, User, UserFilter, UserId, Username};

use crate::audit_log::{self, NewAuditEntry};
use crate::column::Column;
use crate::error::Error;
use crate::grants::{self, Grants};
use crate::invitations;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::photos;
use crate::posts::{self, AccessCheck};
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::tx::Tx;
use crate::users::{self, FROM_USERS, USER_COLUMN_COUNT, USER_COLUMN_LIST, read_user, role_of_user};
use crate::value::Value;

statements! {
    // An account that is being deleted stays so.
    SET_STATUS = "UPDATE users SET status = $1, status_reason = $2 WHERE id = $3 AND status <> 'deleted'";
    SET_ROLE = "UPDATE users SET role = $1 WHERE id = $2 AND status <> 'deleted'";
    STATUS_REASON = "SELECT status_reason FROM users WHERE id = $1";
    // One who is suspended cannot run the instance.
    OWNERS = "SELECT id FROM users WHERE role = 'owner' AND role <> 'member' AND status = 'active'";
    // Changes nothing, but locks the rows: of two owners who leave at once, one sees the other's commit.
    LOCK_OWNERS = "UPDATE users SET role = role WHERE role = 'owner' AND role <> 'member'";
    SET_HIDDEN = "UPDATE posts SET hidden_reason = $1 WHERE id = $2 RETURNING photo_id, user_id";
    HIDDEN_BY_USER = "SELECT id, hidden_reason FROM posts WHERE user_id = $1 AND hidden_reason IS NOT NULL
        ORDER BY id DESC LIMIT 100";
    RECORD = sql!(RECORDS, "WHERE u.username_key = $1");
    PAGE = sql!(RECORDS, MATCHES, WITH_STATUS, "ORDER BY u.id DESC LIMIT $9");
    PAGE_BY_STATUS = sql!(RECORDS, MATCHES, WITH_OTHER_STATUS, "ORDER BY u.id DESC LIMIT $9");
    MATCHING = sql!("SELECT count(*) FROM users u ", MATCHES, WITH_STATUS);
    USER_TOTALS = "SELECT (SELECT count(*) FROM users WHERE status <> 'deleted'),
        (SELECT count(*) FROM users WHERE status = 'pending' AND status <> 'active'),
        (SELECT count(*) FROM users WHERE status IN ('suspended', 'hidden') AND status <> 'active'),
        (SELECT count(*) FROM users WHERE status = 'deleted' AND status <> 'active'),
        (SELECT count(*) FROM posts), (SELECT count(*) FROM likes)";
}

/// Users with their records. The counts read the index entries of that user only.
const RECORDS: &str = sql!(
    "SELECT ",
    USER_COLUMN_LIST,
    ", u.status_reason, u.network, (SELECT count(*) FROM posts p WHERE p.user_id = u.id),
        (SELECT count(*) FROM likes l WHERE l.user_id = u.id)",
    FROM_USERS
);

/// The conditions of a filter, for users from the newest down: id, time, network, beginning of the name, and
/// role, of which the configuration names some owners.
const MATCHES: &str = sql!(
    "WHERE u.id < $1 AND u.created_at >= $2 AND coalesce(u.network, -1) BETWEEN $3 AND $4
    AND substr(u.username_key, 1, length(CAST($5 AS TEXT))) = $5
    AND CAST($6 AS TEXT) IN ('', ",
    role_of_user!("$7"),
    ") AND u.status <> 'deleted' "
);
const WITH_STATUS: &str = "AND CAST($8 AS TEXT) IN ('', u.status) ";
// From the index of those who are not active: few among many.
const WITH_OTHER_STATUS: &str = "AND u.status = $8 AND u.status <> 'active' ";

/// A user as moderators see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    pub user: User,
    pub status_reason: Option<Reason>,
    /// Where the account joined from.
    pub network: Option<Network>,
    pub posts: u64,
    /// The number of posts that the user likes.
    pub likes: u64,
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
    /// `grants` are those of the user with this status.
    pub async fn set_status(
        &self,
        user: UserId,
        status: Status,
        reason: Option<Reason>,
        grants: Grants,
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
                grants::end_beyond(tx, user, grants).await?;
                users::publish_visibility(tx, user);
                audit_log::append(tx, &audit).await?;
                Ok(RoleOutcome::Changed)
            }
            .boxed()
        })
        .await
    }

    /// `grants` are those of the user with this role.
    pub async fn set_role(
        &self,
        user: UserId,
        role: Role,
        grants: Grants,
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
                grants::end_beyond(tx, user, grants).await?;
                tx.publish(Key::user(user));
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
                let set =
                    tx.first(SET_HIDDEN, &params, |row| Ok((row.photo_id(0)?, row.user_id(1)?))).await?;
                let Some((photo, author)) = set else { return Ok(AccessCheck::Missing) };
                posts::publish_list(tx, id, author);
                photos::publish_gone(tx, photo);
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

    /// The users with an id below `before` who match a filter, newest first, at most `limit`, and whether
    /// there are more. `owners` are owners whatever their row says.
    pub async fn users(
        &self,
        filter: UserFilter,
        owners: &[Username],
        before: i64,
        limit: usize,
    ) -> Result<(Vec<UserRecord>, bool), Error> {
        let (filter, owners) = prepared(filter, owners);
        let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        self.read_long(move |tx| {
            async move {
                let page = match filter.status {
                    None | Some(Status::Active) => PAGE,
                    Some(_) => PAGE_BY_STATUS,
                };
                let conditions = conditions(&filter, &owners, before);
                let params: Vec<Value<'_>> = conditions.into_iter().chain([fetched.into()]).collect();
                tx.page(limit, (page, &params), read_record).await
            }
            .boxed()
        })
        .await
    }

    /// How many users with an id below `before` match a filter.
    pub async fn count_users(
        &self,
        filter: UserFilter,
        owners: &[Username],
        before: i64,
    ) -> Result<u64, Error> {
        let (filter, owners) = prepared(filter, owners);
        let count = self.read_long(move |tx| {
            async move {
                tx.first(MATCHING, &conditions(&filter, &owners, before), |row| row.unsigned(0)).await
            }
            .boxed()
        });
        Ok(count.await?.unwrap_or(0))
    }

    /// The record of the user with this name, compared without case.
    pub async fn user_record(&self, username: &Username) -> Result<Option<UserRecord>, Error> {
        let key = username.key();
        self.read_long(move |tx| {
            async move { tx.first(RECORD, &[key.as_str().into()], read_record).await }.boxed()
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

/// A filter with the key of its query, and the keys of owners.
fn prepared(filter: UserFilter, owners: &[Username]) -> (UserFilter, String) {
    let query = filter.query.map(|query| query.to_ascii_lowercase());
    (UserFilter { query, ..filter }, users::owner_keys(owners))
}

/// The parameters of [`MATCHES`] and the status.
fn conditions<'a>(filter: &'a UserFilter, owners: &'a str, before: i64) -> [Value<'a>; 8] {
    let (first, last) =
        filter.network.map_or((-1, i64::MAX), |range| (range.first.to_stored(), range.last.to_stored()));
    [
        before.into(),
        filter.since.map_or(i64::MIN, Timestamp::micros).into(),
        first.into(),
        last.into(),
        filter.query.as_deref().unwrap_or_default().into(),
        filter.role.map_or("", Role::as_str).into(),
        owners.into(),
        filter.status.map_or("", Status::as_str).into(),
    ]
}

fn read_record(row: &Row<'_, '_>) -> Result<UserRecord, Error> {
    Ok(UserRecord {
        user: read_user(row, 0)?,
        status_reason: Reason::read_nullable(row, USER_COLUMN_COUNT)?,
        network: Network::read_nullable(row, USER_COLUMN_COUNT + 1)?,
        posts: row.unsigned(USER_COLUMN_COUNT + 2)?,
        likes: row.unsigned(USER_COLUMN_COUNT + 3)?,
    })
}
