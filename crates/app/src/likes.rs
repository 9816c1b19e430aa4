//! Liking and unliking.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{PostId, UserId};
use store::Like;

use crate::posts::NO_SUCH_POST;
use crate::{App, Caller, Error, Liked};

/// So many of somebody's newest likes are kept in memory: a page of the feed shows a hundred posts at most.
const SOME: u32 = 512;

/// So many of somebody who looks at older posts again and again.
const MANY: u32 = 16_384;

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

    /// Whether somebody likes a post.
    pub(crate) async fn likes(&self, user: UserId, post: PostId) -> Result<bool, Error> {
        let parts = &self.0;
        if !parts.store.is_shared() {
            let liked = self.newest_liked(user, post).await?;
            if liked.since <= post {
                return Ok(liked.contains(post));
            }
        }
        Ok(parts.store.likes(user, post).await?)
    }

    /// The posts the caller likes, among `oldest` and all newer ones.
    pub async fn liked_since(&self, caller: &Caller, oldest: PostId) -> Result<Arc<Liked>, Error> {
        let user = caller.user.id;
        let liked = self.newest_liked(user, oldest).await?;
        if liked.since <= oldest {
            return Ok(liked);
        }
        let posts = self.0.store.likes_since(user, oldest).await?;
        Ok(Arc::new(Liked::all_since(oldest, posts)))
    }

    /// The newest posts somebody likes, from memory. They need not reach back to the one that is asked for, but will if
    /// such are asked for often.
    async fn newest_liked(&self, user: UserId, asked: PostId) -> Result<Arc<Liked>, Error> {
        let (parts, outgrown) = (&self.0, AtomicBool::new(false));
        let will_do = |liked: &Arc<Liked>| {
            let will_do = liked.limit >= MANY || liked.will_do(asked);
            outgrown.store(!will_do, Ordering::Relaxed);
            will_do
        };
        let read = async || {
            let limit = if outgrown.load(Ordering::Relaxed) { MANY } else { SOME };
            let newest = parts.store.newest_likes(user, limit).await?;
            Ok::<_, Error>(Some(Arc::new(Liked::newest(newest, limit))))
        };
        let liked = parts.memory.likes.get_if(user, will_do, read).await?;
        Ok(liked.unwrap_or_else(|| Arc::new(Liked::newest(Vec::new(), SOME))))
    }

    pub async fn unlike(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        match self.0.store.unlike(caller.user.id, post).await? {
            Like::Changed => Ok(()),
            Like::Unchanged => Err(Error::Conflict { field: None, message: "you do not like this post" }),
            Like::NoSuchPost => Err(NO_SUCH_POST),
        }
    }
}
