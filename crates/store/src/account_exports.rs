//! Exports of accounts: which users may download theirs, and the rows that go into it.

use futures_util::FutureExt;
use model::{PhotoId, Post, PostId, Timestamp, UserId};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::posts::{PostRow, read_post};
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::TableRow;

/// Selects all columns of a user's posts, and the id that each had where it was first published.
const SELECT_POSTS: &str = sql!(
    "SELECT ",
    PostRow::COLUMN_LIST,
    ", (SELECT i.source_id FROM imported_posts i WHERE i.post_id = p.id) FROM posts p WHERE p.user_id = $1 "
);

statements! {
    START = "INSERT INTO account_exports (user_id, created_at) VALUES ($1, $2)
        ON CONFLICT (user_id) DO UPDATE SET created_at = excluded.created_at";
    STARTED_AT = "SELECT created_at FROM account_exports WHERE user_id = $1";
    POSTS = sql!(SELECT_POSTS, "AND p.id > $2 ORDER BY p.id LIMIT $3");
    POSTS_BEFORE = sql!(SELECT_POSTS, "AND p.id < $2 ORDER BY p.id DESC LIMIT $3");
    LIKES = "SELECT l.post_id, l.created_at, u.username FROM likes l
        JOIN posts p ON p.id = l.post_id JOIN users u ON u.id = p.user_id
        WHERE l.user_id = $1 AND l.post_id > $2 AND p.hidden_reason IS NULL AND u.status IN ('active', 'suspended')
        ORDER BY l.post_id LIMIT $3";
    ANY_POST = "SELECT id FROM posts WHERE user_id = $1 LIMIT 1";
    POST_COUNT = "SELECT count(*) FROM posts WHERE user_id = $1";
    // Hidden posts have an index of their own, so no row is read.
    SHOWN_POST_COUNT = "SELECT (SELECT count(*) FROM posts WHERE user_id = $1)
        - (SELECT count(*) FROM posts WHERE user_id = $1 AND hidden_reason IS NOT NULL)";
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedPost {
    pub post: Post<UserId>,
    /// The id of the photo where the post was first published: the same on every instance.
    pub source: PhotoId,
}

/// A post that a user likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedLike {
    pub post: PostId,
    pub author: String,
    pub liked_at: Timestamp,
}

impl Store {
    /// Records that a user may download an export.
    pub async fn start_export(&self, user: UserId, now: Timestamp) -> Result<(), Error> {
        self.write(LockKey::User(user), move |tx| {
            async move { tx.execute(START, &[user.into(), now.into()]).await.map(drop) }.boxed()
        })
        .await
    }

    /// When a user's last export was started.
    pub async fn export_started_at(&self, user: UserId) -> Result<Option<Timestamp>, Error> {
        self.read(move |tx| {
            async move { tx.first(STARTED_AT, &[user.into()], |row| row.timestamp(0)).await }.boxed()
        })
        .await
    }

    /// Whether a user has posts, also such that are hidden.
    pub async fn has_posts(&self, user: UserId) -> Result<bool, Error> {
        let any = self.read(move |tx| {
            async move { tx.first(ANY_POST, &[user.into()], |row| row.post_id(0)).await }.boxed()
        });
        Ok(any.await?.is_some())
    }

    /// The number of a user's posts, also of those that are hidden.
    pub async fn post_count(&self, user: UserId) -> Result<u64, Error> {
        self.count_posts(POST_COUNT, user).await
    }

    /// The number of a user's posts that are not hidden.
    pub async fn shown_post_count(&self, user: UserId) -> Result<u64, Error> {
        self.count_posts(SHOWN_POST_COUNT, user).await
    }

    async fn count_posts(&self, statement: &'static str, user: UserId) -> Result<u64, Error> {
        let count = self.read_long(move |tx| {
            async move { tx.first(statement, &[user.into()], |row| row.unsigned(0)).await }.boxed()
        });
        Ok(count.await?.unwrap_or(0))
    }

    /// Posts of a user after `after`, oldest first; also those that are hidden.
    pub async fn exported_posts(
        &self,
        user: UserId,
        after: PostId,
        limit: u32,
    ) -> Result<Vec<ExportedPost>, Error> {
        self.read(move |tx| {
            async move { tx.all(POSTS, &[user.into(), after.into(), limit.into()], read_exported_post).await }
                .boxed()
        })
        .await
    }

    /// The same before `before`, newest first.
    pub async fn exported_posts_before(
        &self,
        user: UserId,
        before: PostId,
        limit: u32,
    ) -> Result<Vec<ExportedPost>, Error> {
        self.read(move |tx| {
            async move {
                tx.all(POSTS_BEFORE, &[user.into(), before.into(), limit.into()], read_exported_post).await
            }
            .boxed()
        })
        .await
    }

    /// Posts after `after` that a user likes, oldest first; without those that are hidden.
    pub async fn exported_likes(
        &self,
        user: UserId,
        after: PostId,
        limit: u32,
    ) -> Result<Vec<ExportedLike>, Error> {
        let read = |row: &Row<'_, '_>| {
            Ok(ExportedLike { post: row.post_id(0)?, liked_at: row.timestamp(1)?, author: row.text(2)? })
        };
        self.read(move |tx| {
            async move { tx.all(LIKES, &[user.into(), after.into(), limit.into()], read).await }.boxed()
        })
        .await
    }
}

fn read_exported_post(row: &Row<'_, '_>) -> Result<ExportedPost, Error> {
    let (post, source) = (read_post(row)?, PostRow::COLUMNS.len());
    let source = if row.is_null(source)? { post.photo.id } else { row.photo_id(source)? };
    Ok(ExportedPost { post, source })
}
