//! Members as others see them.

use std::sync::Arc;

use model::{Post, User, UserId, Username};

use crate::{App, Error};

const NO_SUCH_USER: Error = Error::NotFound("there is no such user");

impl App {
    /// The member of this name, whatever its case.
    pub async fn user(&self, username: &Username) -> Result<User, Error> {
        self.0.store.user(username).await?.ok_or(NO_SUCH_USER)
    }

    /// A post with whoever wrote it.
    pub(crate) async fn signed(&self, post: Post<UserId>) -> Result<Post, Error> {
        let parts = &self.0;
        let read = async { Ok::<_, Error>(Some(Arc::new(parts.store.author(post.user).await?))) };
        let user = parts.memory.users.get(post.user, |_| true, read).await?.ok_or(NO_SUCH_USER)?;
        Ok(post.by(user))
    }
}
