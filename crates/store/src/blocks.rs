//! The users that a user has blocked, and the posts that a user has hidden from their own lists.

use std::cmp::Reverse;

use futures_util::FutureExt;
use model::{PostId, Timestamp, User, UserId};

use crate::error::Error;
use crate::exclusions::{HiddenUsers, Relations};
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::table::table;
use crate::users;

table! {
    /// A row of `blocks`.
    BlockRow = "blocks", key (user_id, blocked_id) {
        user_id: UserId,
        blocked_id: UserId,
        created_at: Timestamp,
    }
}

table! {
    /// A row of `hidden_posts`.
    HiddenPostRow = "hidden_posts", key (user_id, post_id) {
        user_id: UserId,
        post_id: PostId,
        created_at: Timestamp,
    }
}

statements! {
    INSERT = "INSERT INTO blocks (user_id, blocked_id, created_at) SELECT $1, id, $2 FROM users WHERE id = $3
        ON CONFLICT (user_id, blocked_id) DO NOTHING";
    DELETE = "DELETE FROM blocks WHERE user_id = $1 AND blocked_id = $2";
    BLOCKED = "SELECT blocked_id FROM blocks WHERE user_id = $1";
    BLOCKED_BY = "SELECT user_id FROM blocks WHERE blocked_id = $1";
    COUNT = "SELECT count(*) FROM blocks WHERE user_id = $1";
    HIDE = "INSERT INTO hidden_posts (user_id, post_id, created_at) SELECT $1, id, $2 FROM posts WHERE id = $3
        ON CONFLICT (user_id, post_id) DO NOTHING";
    UNHIDE = "DELETE FROM hidden_posts WHERE user_id = $1 AND post_id = $2";
    HIDDEN_POSTS = "SELECT post_id FROM hidden_posts WHERE user_id = $1";
    COUNT_HIDDEN = "SELECT count(*) FROM hidden_posts WHERE user_id = $1";
    COUNT_HIDDEN_BY = "SELECT count(*) FROM hidden_posts h JOIN posts p ON p.id = h.post_id
        WHERE h.user_id = $1 AND p.user_id = $2 AND p.hidden_reason IS NULL";
    HIDDEN_USERS = "SELECT id FROM users WHERE status IN ('pending', 'hidden', 'deleted') AND status <> 'active'";
}

/// Users that a user may block. A list is filtered with all of them.
pub const MAX_BLOCKS: u64 = 1_000;

/// Posts that a user may hide.
pub const MAX_HIDDEN_POSTS: u64 = 10_000;

/// The result of blocking a user or hiding a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOutcome {
    Done,
    /// [`MAX_BLOCKS`] or [`MAX_HIDDEN_POSTS`] is reached.
    TooMany,
}

impl Store {
    pub async fn hidden_users(&self) -> Result<HiddenUsers, Error> {
        let ids = self.read(|tx| tx.all(HIDDEN_USERS, &[], |row| row.user_id(0)).boxed()).await?;
        Ok(HiddenUsers(ids.into_iter().collect()))
    }

    pub async fn relations(&self, user: UserId) -> Result<Relations, Error> {
        self.read(move |tx| {
            async move {
                let blocked = tx.all(BLOCKED, &[user.into()], |row| row.user_id(0)).await?;
                let blocked_by = tx.all(BLOCKED_BY, &[user.into()], |row| row.user_id(0)).await?;
                let hidden_posts = tx.all(HIDDEN_POSTS, &[user.into()], |row| row.post_id(0)).await?;
                Ok(Relations {
                    blocked: blocked.into_iter().collect(),
                    blocked_by: blocked_by.into_iter().collect(),
                    hidden_posts: hidden_posts.into_iter().collect(),
                })
            }
            .boxed()
        })
        .await
    }

    /// The users that a user has blocked, the newest members first.
    pub async fn blocked_users(&self, user: UserId) -> Result<Vec<User>, Error> {
        self.read(move |tx| {
            async move {
                let ids = tx.all(BLOCKED, &[user.into()], |row| row.user_id(0)).await?;
                let mut blocked = users::by_ids(tx, &ids).await?;
                blocked.sort_by_key(|user| Reverse(user.id));
                Ok(blocked)
            }
            .boxed()
        })
        .await
    }

    /// How many shown posts of `author` a user has hidden.
    pub async fn hidden_post_count(&self, user: UserId, author: UserId) -> Result<u64, Error> {
        let count = self.read(move |tx| {
            async move {
                    tx.first(COUNT_HIDDEN_BY, &[user.into(), author.into()], |row| row.unsigned(0)).await
                }
                .boxed()
        });
        Ok(count.await?.unwrap_or(0))
    }

    /// Blocks a user. Blocking again changes nothing.
    pub async fn block(&self, user: UserId, blocked: UserId, now: Timestamp) -> Result<BlockOutcome, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let count = tx.first(COUNT, &[user.into()], |row| row.unsigned(0)).await?;
                if count.unwrap_or(0) >= MAX_BLOCKS {
                    return Ok(BlockOutcome::TooMany);
                }
                if tx.execute(INSERT, &[user.into(), now.into(), blocked.into()]).await? > 0 {
                    tx.publish(Key::relations(user));
                    tx.publish(Key::relations(blocked));
                }
                Ok(BlockOutcome::Done)
            }
            .boxed()
        })
        .await
    }

    pub async fn unblock(&self, user: UserId, blocked: UserId) -> Result<(), Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move {
                if tx.execute(DELETE, &[user.into(), blocked.into()]).await? > 0 {
                    tx.publish(Key::relations(user));
                    tx.publish(Key::relations(blocked));
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// Hides a post from a user's lists. Hiding it again changes nothing.
    pub async fn hide_for(&self, user: UserId, post: PostId, now: Timestamp) -> Result<BlockOutcome, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let count = tx.first(COUNT_HIDDEN, &[user.into()], |row| row.unsigned(0)).await?;
                if count.unwrap_or(0) >= MAX_HIDDEN_POSTS {
                    return Ok(BlockOutcome::TooMany);
                }
                if tx.execute(HIDE, &[user.into(), now.into(), post.into()]).await? > 0 {
                    tx.publish(Key::relations(user));
                }
                Ok(BlockOutcome::Done)
            }
            .boxed()
        })
        .await
    }

    pub async fn unhide_for(&self, user: UserId, post: PostId) -> Result<(), Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move {
                if tx.execute(UNHIDE, &[user.into(), post.into()]).await? > 0 {
                    tx.publish(Key::relations(user));
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }
}
