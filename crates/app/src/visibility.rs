//! Who sees what: users and posts that are hidden from all, and what a viewer has blocked or hidden.

use std::sync::Arc;

use model::{PostId, Refusal, UserId};
use store::{Exclusions, HiddenUsers, Relations};

use crate::{App, Caller, Error};

impl App {
    /// What lists leave out for this caller.
    pub(crate) async fn exclusions(&self, caller: Option<&Caller>) -> Result<Exclusions, Error> {
        let relations = match caller {
            Some(caller) => self.relations(caller.user.id).await?,
            None => Arc::default(),
        };
        Ok(Exclusions { hidden_users: self.hidden_users().await?, relations })
    }

    /// Whether lists are the same for this caller as for an anonymous one.
    pub async fn has_exclusions(&self, caller: &Caller) -> Result<bool, Error> {
        let relations = self.relations(caller.user.id).await?;
        Ok(!relations.blocked.is_empty() || !relations.hidden_posts.is_empty())
    }

    pub(crate) async fn hidden_users(&self) -> Result<Arc<HiddenUsers>, Error> {
        let fill = async || {
            let hidden = self.0.store.hidden_users().await?;
            self.await_published().await?;
            Ok(Arc::new(hidden))
        };
        self.0.caches.hidden_users.get_or_fill((), fill).await
    }

    pub(crate) async fn relations(&self, user: UserId) -> Result<Arc<Relations>, Error> {
        let fill = async || {
            let relations = self.0.store.relations(user).await?;
            self.await_published().await?;
            Ok(Arc::new(relations))
        };
        self.0.caches.relations.get_or_fill(user, fill).await
    }

    /// Fails unless the caller may like the post. Usually no user is hidden and none has blocked the caller:
    /// then the author does not matter.
    pub(crate) async fn check_likeable(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        let (hidden, relations) = (self.hidden_users().await?, self.relations(caller.user.id).await?);
        if hidden.0.is_empty() && relations.blocked_by.is_empty() {
            return Ok(());
        }
        let fill = async || self.0.store.post_author(post).await?.ok_or(Error::NO_SUCH_POST);
        let author = self.0.caches.post_authors.get_or_fill(post, fill).await?;
        if hidden.0.contains(&author) {
            return Err(Error::NO_SUCH_POST);
        }
        if relations.blocked_by.contains(&author) {
            return Err(Error::Forbidden(
                Refusal::BlockedByAuthor,
                "the author of this post has blocked you",
            ));
        }
        Ok(())
    }
}
