//! Users, and the authors of posts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::{Post, User, UserId, Username};

use crate::caller::is_seen;
use crate::{App, Caller, Error};

impl App {
    /// The user of this name, compared without case, if the caller may see them.
    pub async fn user(&self, caller: Option<&Caller>, username: &Username) -> Result<User, Error> {
        let user = self.0.store.user(username).await?;
        user.filter(|user| is_seen(caller, user)).ok_or(Error::NO_SUCH_USER)
    }

    /// How many posts of a user the caller's lists show.
    pub async fn shown_post_count(&self, caller: Option<&Caller>, user: UserId) -> Result<u64, Error> {
        let shown = self.0.store.shown_post_count(user).await?;
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
        Ok(self.0.store.post_count(user).await? > 0)
    }

    /// Posts with their authors. One query reads all that are not cached. A post whose author has been
    /// deleted meanwhile is omitted.
    pub(crate) async fn with_authors(&self, posts: Vec<Post<UserId>>) -> Result<Vec<Post>, Error> {
        let cache = &self.0.caches.users;
        let mut missing = BTreeMap::new();
        let mut authors: Vec<Option<Arc<User>>> = Vec::with_capacity(posts.len());
        for post in &posts {
            authors.push(match cache.get_or_begin(&post.user) {
                Ok(user) => Some(user),
                Err(fill) => {
                    missing.insert(post.user, fill);
                    None
                }
            });
        }
        if !missing.is_empty() {
            let read = self.0.store.authors(missing.keys().copied().collect()).await?;
            let read: HashMap<UserId, Arc<User>> =
                read.into_iter().map(|user| (user.id, Arc::new(user))).collect();
            for (id, fill) in missing {
                if let Some(user) = read.get(&id) {
                    cache.complete(fill, id, user.clone());
                }
            }
            for (post, author) in posts.iter().zip(&mut authors).filter(|(_, author)| author.is_none()) {
                *author = read.get(&post.user).cloned();
            }
        }
        let with_author = |(post, author): (Post<UserId>, Option<Arc<User>>)| Some(post.with_author(author?));
        Ok(posts.into_iter().zip(authors).filter_map(with_author).collect())
    }

    /// A post with its author.
    pub(crate) async fn with_author(&self, post: Post<UserId>) -> Result<Post, Error> {
        let inner = &self.0;
        let fill = async || {
            Ok::<_, Error>(Arc::new(inner.store.author(post.user).await?.ok_or(Error::NO_SUCH_POST)?))
        };
        let user = inner.caches.users.get_or_fill(post.user, fill).await?;
        Ok(post.with_author(user))
    }
}
