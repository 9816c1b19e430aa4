//! Who sees what: users and posts that are hidden from all, and what a viewer has blocked or hidden.

use std::sync::Arc;

use model::{PostId, Refusal, UserId};
use store::{Exclusions, HiddenUsers, Key, Relations};

use crate::{App, Caller, Error, Sources};

impl App {
    /// What lists leave out for this caller.
    pub(crate) async fn exclusions(&self, caller: Option<&Caller>) -> Result<Exclusions, Error> {
        let sources = self.sources();
        let exclusions = self.read_exclusions(&sources, caller).await;
        self.settle(&sources, exclusions).await
    }

    pub(crate) async fn read_exclusions(
        &self,
        sources: &Sources,
        caller: Option<&Caller>,
    ) -> Result<Exclusions, Error> {
        let relations = match caller {
            Some(caller) => self.read_relations(sources, caller.user.id).await?,
            None => Arc::default(),
        };
        Ok(Exclusions { hidden_users: self.hidden_users(sources).await?, relations })
    }

    /// Whether lists are the same for this caller as for an anonymous one.
    pub async fn has_exclusions(&self, sources: &Sources, caller: &Caller) -> Result<bool, Error> {
        let relations = self.read_relations(sources, caller.user.id).await?;
        Ok(!relations.blocked.is_empty() || !relations.hidden_posts.is_empty())
    }

    async fn hidden_users(&self, sources: &Sources) -> Result<Arc<HiddenUsers>, Error> {
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::HIDDEN_USERS);
            Ok(Arc::new(self.0.store.hidden_users().await?))
        };
        self.0.caches.hidden_users.get(sources, (), fill).await
    }

    pub(crate) async fn relations(&self, user: UserId) -> Result<Arc<Relations>, Error> {
        let sources = self.sources();
        let relations = self.read_relations(&sources, user).await;
        self.settle(&sources, relations).await
    }

    async fn read_relations(&self, sources: &Sources, user: UserId) -> Result<Arc<Relations>, Error> {
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::relations(user));
            Ok(Arc::new(self.0.store.relations(user).await?))
        };
        self.0.caches.relations.get(sources, user, fill).await
    }

    /// Fails unless the caller may like the post. Usually no user is hidden and none has blocked the caller:
    /// then the author does not matter.
    pub(crate) async fn check_likeable(&self, caller: &Caller, post: PostId) -> Result<(), Error> {
        let sources = self.sources();
        let Exclusions { hidden_users: hidden, relations } =
            self.read_exclusions(&sources, Some(caller)).await?;
        if hidden.0.is_empty() && relations.blocked_by.is_empty() {
            return Ok(());
        }
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::post(post));
            self.0.store.post_author(post).await?.ok_or(Error::NO_SUCH_POST)
        };
        let author = self.0.caches.post_authors.get(&sources, post, fill).await;
        let author = self.settle(&sources, author).await?;
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
