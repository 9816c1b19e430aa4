//! Members as others see them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use model::{Post, User, UserId, Username};

use crate::{App, Error};

const NO_SUCH_USER: Error = Error::NotFound("there is no such user");

impl App {
    /// The member of this name, whatever its case.
    pub async fn user(&self, username: &Username) -> Result<User, Error> {
        self.0.store.user(username).await?.ok_or(NO_SUCH_USER)
    }

    /// Posts with their authors. Where users are not cached, one query reads all of them.
    pub(crate) async fn with_authors(&self, posts: Vec<Post<UserId>>) -> Result<Vec<Post>, Error> {
        if self.has_exact_caches() {
            let mut signed = Vec::with_capacity(posts.len());
            for post in posts {
                signed.push(match self.0.caches.users.get(&post.user) {
                    Some(user) => post.by(user),
                    None => self.with_author(post).await?,
                });
            }
            return Ok(signed);
        }
        let ids: BTreeSet<UserId> = posts.iter().map(|post| post.user).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let users = self.0.store.authors(ids.into_iter().collect()).await?;
        let users: HashMap<UserId, Arc<User>> =
            users.into_iter().map(|user| (user.id, Arc::new(user))).collect();
        let sign = |post: Post<UserId>| {
            let user = users.get(&post.user).cloned().ok_or(NO_SUCH_USER)?;
            Ok(post.by(user))
        };
        posts.into_iter().map(sign).collect()
    }

    /// A post with its author.
    pub(crate) async fn with_author(&self, post: Post<UserId>) -> Result<Post, Error> {
        let parts = &self.0;
        let fill = async || Ok::<_, Error>(Arc::new(parts.store.author(post.user).await?));
        let user = parts.caches.users.get_or_fill(post.user, fill).await?;
        Ok(post.by(user))
    }
}
