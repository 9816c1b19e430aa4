//! Liking and unliking.

use model::{PostId, UserId};
use store::Like;

use crate::posts::NO_SUCH_POST;
use crate::{App, Caller, Error};

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
        match self.0.memory.likes.peek(&user, |liked| liked.since <= post) {
            Some(liked) => Ok(liked.contains(post)),
            None => Ok(self.0.store.likes(user, post).await?),
        }
    }

    pub async fn unlike(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        match self.0.store.unlike(caller.user.id, post).await? {
            Like::Changed => Ok(()),
            Like::Unchanged => Err(Error::Conflict { field: None, message: "you do not like this post" }),
            Like::NoSuchPost => Err(NO_SUCH_POST),
        }
    }
}
