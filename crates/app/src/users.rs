//! Users, and the authors of posts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::{Post, User, UserId, Username};

use crate::{App, Error};

const NO_SUCH_USER: Error = Error::NotFound("there is no such user");

impl App {
    /// The user of this name, compared without case.
    pub async fn user(&self, username: &Username) -> Result<User, Error> {
        self.0.store.user(username).await?.ok_or(NO_SUCH_USER)
    }

    /// Posts with their authors. One query reads all that are not cached.
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
        posts.into_iter().zip(authors).map(with_author).collect::<Option<_>>().ok_or(NO_SUCH_USER)
    }

    /// A post with its author.
    pub(crate) async fn with_author(&self, post: Post<UserId>) -> Result<Post, Error> {
        let inner = &self.0;
        let fill = async || Ok::<_, Error>(Arc::new(inner.store.author(post.user).await?));
        let user = inner.caches.users.get_or_fill(post.user, fill).await?;
        Ok(post.with_author(user))
    }
}
