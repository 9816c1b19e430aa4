//! Deletion of accounts. The transaction that is acknowledged marks the account as deleted, which hides it
//! and ends its sessions; maintenance then deletes its posts, its likes and at last its row, in small steps
//! that a crash interrupts without harm.

use futures_util::FutureExt;
use model::{PhotoId, PostId, Timestamp, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::error::Error;
use crate::grants::{self, Grants};
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::moderation::is_last_owner;
use crate::statements::statements;
use crate::store::Store;
use crate::{held_names, passwords, photos, users};

statements! {
    // The name is free from now on, unless it is held: the key is none that a username could have.
    MARK = "UPDATE users SET username = 'deleted', username_key = $1, password_hash = '', photo_id = NULL,
        display_name = NULL, bio = NULL, link = NULL, role = 'member', status = 'deleted', status_reason = NULL, network = NULL
        WHERE id = $2 AND status <> 'deleted'";
    // Changes nothing, but locks the row.
    LOCK = "UPDATE users SET password_hash = password_hash WHERE id = $1 AND status <> 'deleted'";
    PASSWORD_HASH = "SELECT password_hash FROM users WHERE id = $1";
    BLOCKED_BY = "SELECT user_id FROM blocks WHERE blocked_id = $1";
    DELETE_BLOCKS = "DELETE FROM blocks WHERE user_id = $1";
    DELETE_BLOCKED = "DELETE FROM blocks WHERE blocked_id = $1";
    DELETED_USERS = "SELECT id FROM users WHERE status = 'deleted' AND status <> 'active' ORDER BY id LIMIT 100";
    POSTS = "SELECT id FROM posts WHERE user_id = $1 ORDER BY id LIMIT $2";
    LIKES = "SELECT post_id FROM likes WHERE user_id = $1 ORDER BY post_id LIMIT $2";
    DELETE = "DELETE FROM users WHERE id = $1 AND status = 'deleted'
        AND NOT EXISTS (SELECT 1 FROM posts WHERE user_id = $1)
        AND NOT EXISTS (SELECT 1 FROM likes WHERE user_id = $1)
        AND NOT EXISTS (SELECT 1 FROM resumable_uploads WHERE user_id = $1)";
}

/// The result of marking an account as deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionOutcome {
    /// With the profile photo, whose files must be deleted next.
    Marked(Option<PhotoId>),
    LastOwner,
    /// The password has been changed since it was verified.
    PasswordChanged,
    Missing,
}

impl Store {
    /// Marks an account as deleted. `password_hash` is the hash that the user's password was verified
    /// against; `None` if an owner or the operator deletes the account.
    pub async fn mark_deleted(
        &self,
        user: UserId,
        password_hash: Option<String>,
        now: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<DeletionOutcome, Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move {
                if tx.execute(LOCK, &[user.into()]).await? == 0 {
                    return Ok(DeletionOutcome::Missing);
                }
                let stored = tx.first(PASSWORD_HASH, &[user.into()], |row| row.text(0)).await?;
                if password_hash.is_some() && stored != password_hash {
                    return Ok(DeletionOutcome::PasswordChanged);
                }
                if is_last_owner(tx, user).await? {
                    return Ok(DeletionOutcome::LastOwner);
                }
                let photo = users::by_id(tx, user).await?.photo.map(|photo| photo.id);
                held_names::hold(tx, user, now, password_hash.is_some()).await?;
                let key = format!("!{user}");
                tx.execute(MARK, &[key.as_str().into(), user.into()]).await?;
                if let Some(photo) = photo {
                    photos::delete(tx, photo, now).await?;
                }
                passwords::end_access(tx, user, None).await?;
                for blocker in tx.all(BLOCKED_BY, &[user.into()], |row| row.user_id(0)).await? {
                    tx.publish(Key::relations(blocker));
                }
                grants::end_beyond(tx, user, Grants::NONE).await?;
                for statement in [DELETE_BLOCKS, DELETE_BLOCKED] {
                    tx.execute(statement, &[user.into()]).await?;
                }
                users::publish_visibility(tx, user);
                tx.publish(Key::relations(user));
                if let Some(audit) = &audit {
                    audit_log::append(tx, audit).await?;
                }
                Ok(DeletionOutcome::Marked(photo))
            }
            .boxed()
        })
        .await
    }

    /// Accounts that are being deleted.
    pub async fn deleted_users(&self) -> Result<Vec<UserId>, Error> {
        self.read(|tx| tx.all(DELETED_USERS, &[], |row| row.user_id(0)).boxed()).await
    }

    /// Some posts of a user, to be deleted.
    pub async fn posts_to_delete(&self, user: UserId, limit: u32) -> Result<Vec<PostId>, Error> {
        self.read(move |tx| {
            async move { tx.all(POSTS, &[user.into(), i64::from(limit).into()], |row| row.post_id(0)).await }
                .boxed()
        })
        .await
    }

    /// Some posts that a user likes, to be unliked.
    pub async fn likes_to_delete(&self, user: UserId, limit: u32) -> Result<Vec<PostId>, Error> {
        self.read(move |tx| {
            async move { tx.all(LIKES, &[user.into(), i64::from(limit).into()], |row| row.post_id(0)).await }
                .boxed()
        })
        .await
    }

    /// Deletes the row of a deleted account that has no posts, likes and uploads any more. False if it has
    /// some, or if a transaction may still add some: one that began before the account was marked.
    pub async fn finish_deletion(&self, user: UserId) -> Result<bool, Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move {
                if !tx.is_settled(user).await? {
                    return Ok(false);
                }
                let deleted = tx.execute(DELETE, &[user.into()]).await? > 0;
                if deleted {
                    users::publish_visibility(tx, user);
                }
                Ok(deleted)
            }
            .boxed()
        })
        .await
    }
}
