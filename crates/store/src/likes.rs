//! Likes. A post's `like_count` equals the number of its rows in `likes`: both change in one transaction.

use std::cmp::Reverse;

use futures_util::FutureExt;
use model::{Cursor, FeedStart, LikerPage, Limit, PostId, Timestamp, UserId};

use crate::error::Error;
use crate::key::Key;
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::statements::statements;
use crate::store::{MAX_SHORT_OFFSET, Store};
use crate::table::table;
use crate::tx::Tx;
use crate::users;

table! {
    /// A row of `likes`.
    LikeRow = "likes", key (user_id, post_id) {
        user_id: UserId,
        post_id: PostId,
        created_at: Timestamp,
    }
}

statements! {
    // Selecting from `posts` inserts no row if the post does not exist or is hidden. A request of a user who
    // has been deleted meanwhile must not leave one either.
    pub INSERT = "INSERT INTO likes (user_id, post_id, created_at) SELECT $1, id, $2 FROM posts WHERE id = $3
        AND hidden_reason IS NULL AND EXISTS (SELECT 1 FROM users WHERE id = $1 AND status <> 'deleted')
        ON CONFLICT (user_id, post_id) DO NOTHING";
    DELETE = "DELETE FROM likes WHERE user_id = $1 AND post_id = $2";
    pub ADD_TO_COUNT = "UPDATE posts SET like_count = like_count + $1 WHERE id = $2";
    BETWEEN = "SELECT post_id FROM likes WHERE user_id = $1 AND post_id BETWEEN $2 AND $3 ORDER BY post_id";
    NEWEST = "SELECT post_id FROM likes WHERE user_id = $1 ORDER BY post_id DESC LIMIT $2";
    LIKERS = "SELECT user_id FROM likes WHERE post_id = $1 AND user_id < $2 ORDER BY user_id DESC LIMIT $3";
    LIKER_AT_OFFSET = "SELECT user_id FROM likes WHERE post_id = $1 ORDER BY user_id DESC LIMIT 1 OFFSET $2";
    POST_EXISTS = "SELECT 1 FROM posts WHERE id = $1 AND hidden_reason IS NULL";
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

    /// The users who like a post, the newest members first; `None` if the post does not exist.
    pub async fn likers(
        &self,
        post: PostId,
        start: FeedStart,
        limit: Limit,
    ) -> Result<Option<LikerPage>, Error> {
        match start {
            FeedStart::Offset(skipped) if skipped > MAX_SHORT_OFFSET => {
                self.read_long(move |tx| likers(tx, post, start, limit.get()).boxed()).await
            }
            _ => self.read(move |tx| likers(tx, post, start, limit.get()).boxed()).await,
        }
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

async fn likers(
    tx: &mut Tx<'_>,
    post: PostId,
    start: FeedStart,
    limit: usize,
) -> Result<Option<LikerPage>, Error> {
    if tx.first(POST_EXISTS, &[post.into()], |_| Ok(())).await?.is_none() {
        return Ok(None);
    }
    let before = match start {
        FeedStart::Offset(0) => Some(i64::MAX),
        FeedStart::After(Cursor(id)) => Some(id),
        FeedStart::Offset(skipped) => {
            let offset = i64::try_from(skipped).unwrap_or(i64::MAX);
            let first = tx.first(LIKER_AT_OFFSET, &[post.into(), offset.into()], |row| row.int(0)).await?;
            first.map(|id| id + 1)
        }
    };
    let Some(before) = before else { return Ok(Some(LikerPage { users: Vec::new(), next: None })) };
    // One row more than the page tells whether there is a next page.
    let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let (ids, more) =
        tx.page(limit, (LIKERS, &[post.into(), before.into(), fetched.into()]), |row| row.user_id(0)).await?;
    let mut users = users::by_ids(tx, &ids).await?;
    users.sort_by_key(|user| Reverse(user.id));
    let next = ids.last().filter(|_| more).map(|id| Cursor(id.0));
    Ok(Some(LikerPage { users, next }))
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
    for key in [Key::likes_by(user), Key::likes_of(post)] {
        tx.publish(key);
    }
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
