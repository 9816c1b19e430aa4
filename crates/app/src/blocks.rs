//! Blocked users and hidden posts: what a user does not want to see.

use model::{Cursor, Post, PostId, Refusal, User, UserId, Username, ValidationError};
use store::{BlockOutcome, MAX_BLOCKS, MAX_HIDDEN_POSTS};

use crate::{App, Caller, Error};

impl App {
    /// The users that the caller has blocked, the newest members first.
    pub async fn blocked_users(&self, caller: &Caller) -> Result<Vec<User>, Error> {
        let blocked = self.0.store.blocked_users(caller.user.id).await?;
        // Of one who is hidden, the name is enough to unblock them.
        let bare = |user: User| {
            if user.status.is_shown() { user } else { User { photo: None, profile: None, ..user } }
        };
        Ok(blocked.into_iter().map(bare).collect())
    }

    pub async fn has_blocked(&self, caller: &Caller, user: UserId) -> Result<bool, Error> {
        Ok(self.relations(caller.user.id).await?.blocked.contains(&user))
    }

    pub async fn block(&self, caller: &Caller, username: &Username) -> Result<(), Error> {
        let blocked = self.user(Some(caller), username).await?;
        if blocked.id == caller.user.id {
            let rule = ValidationError::refused(Refusal::Yourself, "you cannot block yourself");
            return Err(Error::invalid("username", rule));
        }
        match self.0.store.block(caller.user.id, blocked.id, self.0.clock.now()).await? {
            BlockOutcome::Done => Ok(()),
            BlockOutcome::TooMany => Err(too_many(Refusal::TooManyBlocks, MAX_BLOCKS, "blocked users")),
        }
    }

    /// Also if the user is not blocked. One who is hidden by now is known only to those who have blocked
    /// them.
    pub async fn unblock(&self, caller: &Caller, username: &Username) -> Result<(), Error> {
        let blocked = self.0.store.user(username).await?.ok_or(Error::NO_SUCH_USER)?;
        if !caller.sees(&blocked) && !self.has_blocked(caller, blocked.id).await? {
            return Err(Error::NO_SUCH_USER);
        }
        Ok(self.0.store.unblock(caller.user.id, blocked.id).await?)
    }

    /// The posts that the caller has hidden from their lists, newest first.
    pub async fn hidden_posts(&self, caller: &Caller) -> Result<Vec<PostId>, Error> {
        let relations = self.relations(caller.user.id).await?;
        let mut posts: Vec<PostId> = relations.hidden_posts.iter().copied().collect();
        posts.sort_unstable_by(|one, other| other.cmp(one));
        Ok(posts)
    }

    /// A page of the posts that the caller has hidden, newest first, and where the next one begins. Posts
    /// that a moderator has hidden as well are left out.
    pub async fn hidden_post_page(
        &self,
        caller: &Caller,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<(Vec<Post>, Option<Cursor>), Error> {
        let mut ids = self.hidden_posts(caller).await?;
        ids.retain(|id| after.is_none_or(|Cursor(after)| id.0 < after));
        let next = ids.get(limit).and(ids.get(limit.saturating_sub(1))).map(|last| Cursor(last.0));
        let mut posts = Vec::new();
        for id in ids.into_iter().take(limit) {
            match self.post(Some(caller), id).await {
                Ok(post) => posts.push(post),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((posts, next))
    }

    pub async fn has_hidden(&self, caller: &Caller, post: PostId) -> Result<bool, Error> {
        Ok(self.relations(caller.user.id).await?.hidden_posts.contains(&post))
    }

    pub async fn hide_post(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        self.post(Some(caller), post).await?;
        match self.0.store.hide_for(caller.user.id, post, self.0.clock.now()).await? {
            BlockOutcome::Done => Ok(()),
            BlockOutcome::TooMany => Err(too_many(Refusal::TooManyHidden, MAX_HIDDEN_POSTS, "hidden posts")),
        }
    }

    pub async fn unhide_post(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        Ok(self.0.store.unhide_for(caller.user.id, post).await?)
    }
}

fn too_many(refusal: Refusal, max: u64, what: &str) -> Error {
    let message = format!("you have {max} {what}, which is the limit; remove some first");
    Error::TooMany(Error::limit(refusal, max, message))
}
