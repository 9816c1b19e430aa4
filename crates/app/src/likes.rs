//! Liking and unliking.

use std::sync::Arc;

use model::{PostId, UserId};
use store::Like;

use crate::posts::NO_SUCH_POST;
use crate::{App, Caller, Error, LikedSet};

/// How many of a user's newest likes are cached: a page of the feed shows a hundred posts at most.
const CACHED_LIKES: u32 = 512;

impl App {
    pub async fn like(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        match self.0.store.like(caller.user.id, post, self.0.clock.now()).await? {
            Like::Changed => Ok(()),
            Like::Unchanged => {
                Err(Error::Conflict { field: None, message: "you have liked this post already" })
            }
            Like::NoSuchPost => Err(NO_SUCH_POST),
        }
    }

    /// Whether the caller likes a post.
    pub async fn likes(&self, caller: &Caller, post: PostId) -> Result<bool, Error> {
        let (parts, user) = (&self.0, caller.user.id);
        if self.has_exact_caches() {
            let liked = self.newest_liked(user).await?;
            if liked.reaches(post) {
                return Ok(liked.contains(post));
            }
        }
        Ok(parts.store.likes(user, post).await?)
    }

    /// The posts the caller likes, among `oldest` and all newer ones.
    pub async fn liked_since(&self, caller: &Caller, oldest: PostId) -> Result<Arc<LikedSet>, Error> {
        let user = caller.user.id;
        let liked = self.newest_liked(user).await?;
        if liked.reaches(oldest) {
            return Ok(liked);
        }
        let posts = self.0.store.likes_since(user, oldest).await?;
        Ok(Arc::new(LikedSet::since(oldest, posts)))
    }

    /// The newest posts a user likes, cached. The set need not reach back to the post that is asked for.
    async fn newest_liked(&self, user: UserId) -> Result<Arc<LikedSet>, Error> {
        let fill = async || {
            let newest = self.0.store.newest_likes(user, CACHED_LIKES).await?;
            Ok(Arc::new(LikedSet::newest(newest, CACHED_LIKES)))
        };
        self.0.caches.likes.get_or_fill(user, fill).await
    }

    pub async fn unlike(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        match self.0.store.unlike(caller.user.id, post).await? {
            Like::Changed => Ok(()),
            Like::Unchanged => Err(Error::Conflict { field: None, message: "you do not like this post" }),
            Like::NoSuchPost => Err(NO_SUCH_POST),
        }
    }
}
