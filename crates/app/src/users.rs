//! Users, and the authors of posts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use model::{Post, User, UserId, Username};

use crate::{App, Error};

const NO_SUCH_USER: Error = Error::NotFound("there is no such user");

impl App {
    /// The user of this name, compared without case.
    pub async fn user(&self, username: &Username) -> Result<User, Error> {
        self.0.store.user(username).await?.ok_or(NO_SUCH_USER)
    }

    /// Posts with their authors. Where users are not cached, one query reads all of them.
    pub(crate) async fn with_authors(&self, posts: Vec<Post<UserId>>) -> Result<Vec<Post>, Error> {
        if self.has_exact_caches() {
            let mut with_authors = Vec::with_capacity(posts.len());
            for post in posts {
                with_authors.push(match self.0.caches.users.get(&post.user) {
                    Some(user) => post.with_author(user),
                    None => self.with_author(post).await?,
                });
            }
            return Ok(with_authors);
        }
        let ids: BTreeSet<UserId> = posts.iter().map(|post| post.user).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let users = self.0.store.authors(ids.into_iter().collect()).await?;
        let users: HashMap<UserId, Arc<User>> =
            users.into_iter().map(|user| (user.id, Arc::new(user))).collect();
        let with_author = |post: Post<UserId>| {
            let user = users.get(&post.user).cloned().ok_or(NO_SUCH_USER)?;
            Ok(post.with_author(user))
        };
        posts.into_iter().map(with_author).collect()
    }

    /// A post with its author.
    pub(crate) async fn with_author(&self, post: Post<UserId>) -> Result<Post, Error> {
        let inner = &self.0;
        let fill = async || Ok::<_, Error>(Arc::new(inner.store.author(post.user).await?));
        let user = inner.caches.users.get_or_fill(post.user, fill).await?;
        Ok(post.with_author(user))
    }
}
