//! Likes. `like_count` on a post always equals the number of its rows here: both change in one transaction.

use futures_util::FutureExt;
use model::{PostId, Timestamp, UserId};

use crate::holds::Holds;
use crate::statements::statements;
use crate::tx::Tx;
use crate::{Change, Error, Store};

statements! {
    // Selecting from posts makes a like of a missing post no row at all.
    INSERT = "INSERT INTO likes (user_id, post_id, created_at) SELECT $1, id, $2 FROM posts WHERE id = $3
        ON CONFLICT (user_id, post_id) DO NOTHING";
    DELETE = "DELETE FROM likes WHERE user_id = $1 AND post_id = $2";
    COUNT_UP = "UPDATE posts SET like_count = like_count + 1 WHERE id = $1";
    COUNT_DOWN = "UPDATE posts SET like_count = like_count - 1 WHERE id = $1";
    BETWEEN = "SELECT post_id FROM likes WHERE user_id = $1 AND post_id BETWEEN $2 AND $3 ORDER BY post_id";
}

/// What became of a like given or taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Like {
    Changed,
    /// It was so before.
    Unchanged,
    NoSuchPost,
}

// The post is counted first, and back if there was nothing to count: so whoever likes it or stops to takes the post's
// row before any other, and of two who do it at once, on whichever nodes, one waits for the other.
impl Store {
    pub async fn like(&self, user: UserId, post: PostId, now: Timestamp) -> Result<Like, Error> {
        self.write(Holds::Post(post), move |tx| {
            async move {
                let insert = [user.into(), now.into(), post.into()];
                let (posts, likes) = tx.execute_both((COUNT_UP, &[post.into()]), (INSERT, &insert)).await?;
                if posts > 0 && likes == 0 {
                    tx.execute(COUNT_DOWN, &[post.into()]).await?;
                }
                Ok(outcome(tx, user, post, posts, likes))
            }
            .boxed()
        })
        .await
    }

    pub async fn unlike(&self, user: UserId, post: PostId) -> Result<Like, Error> {
        self.write(Holds::Post(post), move |tx| {
            async move {
                let delete = [user.into(), post.into()];
                let (posts, likes) = tx.execute_both((COUNT_DOWN, &[post.into()]), (DELETE, &delete)).await?;
                if posts > 0 && likes == 0 {
                    tx.execute(COUNT_UP, &[post.into()]).await?;
                }
                Ok(outcome(tx, user, post, posts, likes))
            }
            .boxed()
        })
        .await
    }

    /// The posts that somebody likes, among `oldest` and all newer ones, oldest first.
    pub async fn likes_since(&self, user: UserId, oldest: PostId) -> Result<Vec<PostId>, Error> {
        self.read(move |tx| between(tx, user, oldest, PostId(i64::MAX)).boxed()).await
    }
}

/// The posts from `oldest` to `newest` that somebody likes, oldest first.
pub(crate) async fn between(
    tx: &mut Tx,
    user: UserId,
    oldest: PostId,
    newest: PostId,
) -> Result<Vec<PostId>, Error> {
    tx.all(BETWEEN, &[user.into(), oldest.into(), newest.into()], |row| row.post_id(0)).await
}

/// What it comes to that so many posts were counted and so many likes came or went.
fn outcome(tx: &mut Tx, user: UserId, post: PostId, posts: usize, likes: usize) -> Like {
    match (posts, likes) {
        (0, _) => Like::NoSuchPost,
        (_, 0) => Like::Unchanged,
        _ => {
            tx.note(Change::Like(user, post));
            Like::Changed
        }
    }
}
