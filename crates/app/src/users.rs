//! Users, and the authors of posts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use model::{Post, User, UserId, Username};
use store::Key;

use crate::caller::is_seen;
use crate::{App, Caller, Client, Error, Sources};

impl App {
    /// The user of this name, compared without case, if the caller may see them.
    pub async fn user(&self, caller: Option<&Caller>, username: &Username) -> Result<User, Error> {
        let sources = self.sources();
        let user = self.read_user(&sources, caller, username).await;
        self.settle(&sources, user).await
    }

    /// The same as a part of a response, or of a memoised value.
    pub async fn read_user(
        &self,
        sources: &Sources,
        caller: Option<&Caller>,
        username: &Username,
    ) -> Result<User, Error> {
        let user = self.0.store.user(username).await?;
        sources.add_read();
        let user = user.filter(|user| is_seen(caller, user)).ok_or(Error::NO_SUCH_USER)?;
        sources.add(Key::user(user.id));
        Ok(user)
    }

    /// How many posts of a user the caller's lists show.
    pub async fn shown_post_count(
        &self,
        sources: &Sources,
        client: Client,
        caller: Option<&Caller>,
        user: UserId,
    ) -> Result<u64, Error> {
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::posts_of(user));
            let _slot = self.sum_slot(client).await?;
            Ok::<_, Error>(self.0.store.shown_post_count(user).await?)
        };
        let shown = self.0.caches.post_counts.get(sources, user, fill).await?;
        let Some(caller) = caller else { return Ok(shown) };
        let relations = self.relations(caller.user.id).await?;
        if relations.blocked.contains(&user) {
            return Ok(0);
        }
        if relations.hidden_posts.is_empty() {
            return Ok(shown);
        }
        Ok(shown.saturating_sub(self.0.store.hidden_post_count(caller.user.id, user).await?))
    }

    /// Whether a user has posts, also such that a moderator has hidden.
    pub async fn has_posts(&self, user: UserId) -> Result<bool, Error> {
        Ok(self.0.store.has_posts(user).await?)
    }

    /// Posts with their authors. One query reads all that are not cached. A post whose author has been
    /// deleted meanwhile is omitted.
    pub(crate) async fn with_authors(
        &self,
        sources: &Sources,
        posts: Vec<Post<UserId>>,
    ) -> Result<Vec<Post>, Error> {
        let memo = &self.0.caches.users;
        let mut authors: Vec<_> = posts.iter().map(|post| memo.cached(sources, &post.user)).collect();
        let is_missing = |(post, author): (&Post<UserId>, &Option<_>)| author.is_none().then_some(post.user);
        let missing: BTreeSet<UserId> = posts.iter().zip(&authors).filter_map(is_missing).collect();
        if !missing.is_empty() {
            let revision = memo.revision();
            let read = self.0.store.authors(missing.into_iter().collect()).await?;
            let read: HashMap<UserId, Arc<User>> =
                read.into_iter().map(|user| (user.id, Arc::new(user))).collect();
            for (id, user) in &read {
                memo.insert(sources, revision, Key::user(*id), *id, user.clone());
            }
            for (post, author) in posts.iter().zip(&mut authors).filter(|(_, author)| author.is_none()) {
                *author = read.get(&post.user).cloned();
            }
        }
        let with_author = |(post, author): (Post<UserId>, Option<Arc<User>>)| Some(post.with_author(author?));
        Ok(posts.into_iter().zip(authors).filter_map(with_author).collect())
    }

    /// A post with its author.
    pub(crate) async fn with_author(&self, sources: &Sources, post: Post<UserId>) -> Result<Post, Error> {
        let inner = &self.0;
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::user(post.user));
            Ok::<_, Error>(Arc::new(inner.store.author(post.user).await?.ok_or(Error::NO_SUCH_POST)?))
        };
        let user = inner.caches.users.get(sources, post.user, fill).await?;
        Ok(post.with_author(user))
    }
}
