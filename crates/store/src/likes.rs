//! Likes. A post's `like_count` equals the number of its rows in `likes`: both change in one transaction.

use futures_util::FutureExt;
use model::{PostId, Timestamp, UserId};

use crate::changes::Change;
use crate::error::Error;
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::statements::statements;
use crate::store::Store;
use crate::table::table;
use crate::tx::Tx;

table! {
    /// A row of `likes`.
    LikeRow = "likes", key (user_id, post_id) {
        user_id: UserId,
        post_id: PostId,
        created_at: Timestamp,
    }
}

statements! {
    // Selecting from `posts` inserts no row if the post does not exist.
    pub INSERT = "INSERT INTO likes (user_id, post_id, created_at) SELECT $1, id, $2 FROM posts WHERE id = $3
        ON CONFLICT (user_id, post_id) DO NOTHING";
    DELETE = "DELETE FROM likes WHERE user_id = $1 AND post_id = $2";
    pub ADD_TO_COUNT = "UPDATE posts SET like_count = like_count + $1 WHERE id = $2";
    BETWEEN = "SELECT post_id FROM likes WHERE user_id = $1 AND post_id BETWEEN $2 AND $3 ORDER BY post_id";
    NEWEST = "SELECT post_id FROM likes WHERE user_id = $1 ORDER BY post_id DESC LIMIT $2";
    POST_EXISTS = "SELECT 1 FROM posts WHERE id = $1";
}

impl Store {
    pub async fn like(&self, user: UserId, post: PostId, now: Timestamp) -> Result<LikeOutcome, Error> {
        let like = LikeWrite { user, post, liked_at: Some(now) };
        self.write_like(like, move |tx| set(tx, like).boxed()).await
    }

    pub async fn unlike(&self, user: UserId, post: PostId) -> Result<LikeOutcome, Error> {
        let like = LikeWrite { user, post, liked_at: None };
        self.write_like(like, move |tx| set(tx, like).boxed()).await
    }

    /// Whether the user likes the post.
    pub async fn likes(&self, user: UserId, post: PostId) -> Result<bool, Error> {
        self.read(move |tx| async move { Ok(!between(tx, user, post, post).await?.is_empty()) }.boxed()).await
    }

    /// At most `limit` of the newest posts that a user likes, newest first.
    pub async fn newest_likes(&self, user: UserId, limit: u32) -> Result<Vec<PostId>, Error> {
        self.read(move |tx| {
            async move { tx.all(NEWEST, &[user.into(), i64::from(limit).into()], |row| row.post_id(0)).await }
                .boxed()
        })
        .await
    }

    /// The posts that a user likes, from `oldest` to the newest, oldest first.
    pub async fn likes_since(&self, user: UserId, oldest: PostId) -> Result<Vec<PostId>, Error> {
        self.read(move |tx| between(tx, user, oldest, PostId(i64::MAX)).boxed()).await
    }
}

/// On SQLite. `postgres/likes.rs` has the same for a batch.
async fn set(tx: &mut Tx<'_>, like: LikeWrite) -> Result<LikeOutcome, Error> {
    let LikeWrite { user, post, liked_at } = like;
    let (changed, delta) = match liked_at {
        Some(now) => (tx.execute(INSERT, &[user.into(), now.into(), post.into()]).await?, 1),
        None => (tx.execute(DELETE, &[user.into(), post.into()]).await?, -1),
    };
    if changed == 0 {
        let found = tx.first(POST_EXISTS, &[post.into()], |_| Ok(())).await?;
        return Ok(found.map_or(LikeOutcome::NoSuchPost, |()| LikeOutcome::Unchanged));
    }
    tx.execute(ADD_TO_COUNT, &[i64::from(delta).into(), post.into()]).await?;
    tx.record_change(Change::Like(user, post));
    Ok(LikeOutcome::Changed)
}

/// The posts from `oldest` to `newest` that a user likes, oldest first.
pub(crate) async fn between(
    tx: &mut Tx<'_>,
    user: UserId,
    oldest: PostId,
    newest: PostId,
) -> Result<Vec<PostId>, Error> {
    tx.all(BETWEEN, &[user.into(), oldest.into(), newest.into()], |row| row.post_id(0)).await
}
