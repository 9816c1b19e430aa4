//! Liking and unliking.

use std::sync::Arc;

use model::{PostId, UserId};
use store::Like;

use crate::posts::NO_SUCH_POST;
use crate::{App, Caller, Error, Liked};

/// So many of somebody's likes are kept in memory: a page of the feed shows a hundred posts at most.
const REMEMBERED: u32 = 512;

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
            let liked = self.newest_liked(user).await?;
            if liked.since <= post {
                return Ok(liked.contains(post));
            }
        }
        Ok(parts.store.likes(user, post).await?)
    }

    /// The posts the caller likes, among `oldest` and all newer ones.
    pub async fn liked_since(&self, caller: &Caller, oldest: PostId) -> Result<Arc<Liked>, Error> {
        let user = caller.user.id;
        let liked = self.newest_liked(user).await?;
        if liked.since <= oldest {
            return Ok(liked);
        }
        let posts = self.0.store.likes_since(user, oldest).await?;
        Ok(Arc::new(Liked { since: oldest, posts }))
    }

    /// The newest posts somebody likes, from memory.
    async fn newest_liked(&self, user: UserId) -> Result<Arc<Liked>, Error> {
        let parts = &self.0;
        let read = async || {
            let newest = parts.store.newest_likes(user, REMEMBERED).await?;
            Ok::<_, Error>(Some(Arc::new(Liked::newest(newest, REMEMBERED as usize))))
        };
        let liked = parts.memory.likes.get(user, read).await?;
        Ok(liked.unwrap_or_else(|| Arc::new(Liked::newest(Vec::new(), 1))))
    }

    pub async fn unlike(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        match self.0.store.unlike(caller.user.id, post).await? {
            Like::Changed => Ok(()),
            Like::Unchanged => Err(Error::Conflict { field: None, message: "you do not like this post" }),
            Like::NoSuchPost => Err(NO_SUCH_POST),
        }
    }
}
