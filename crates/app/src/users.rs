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

    /// Posts with whoever wrote them. Where members are not kept in memory, they are asked for all at once.
    pub(crate) async fn all_signed(&self, posts: Vec<Post<UserId>>) -> Result<Vec<Post>, Error> {
        if !self.0.store.is_shared() {
            let mut signed = Vec::with_capacity(posts.len());
            for post in posts {
                signed.push(match self.0.memory.users.find(&post.user) {
                    Some(user) => post.by(user),
                    None => self.signed(post).await?,
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

    /// A post with whoever wrote it.
    pub(crate) async fn signed(&self, post: Post<UserId>) -> Result<Post, Error> {
        let parts = &self.0;
        let read = async || Ok::<_, Error>(Some(Arc::new(parts.store.author(post.user).await?)));
        let user = parts.memory.users.get(post.user, read).await?.ok_or(NO_SUCH_USER)?;
        Ok(post.by(user))
    }
}
