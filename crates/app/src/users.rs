//! Members as others see them.

use model::{User, Username};

use crate::{App, Error};

const NO_SUCH_USER: Error = Error::NotFound("there is no such user");

impl App {
    /// The member of this name, whatever its case.
    pub async fn user(&self, username: &Username) -> Result<User, Error> {
        self.0.store.user(username).await?.ok_or(NO_SUCH_USER)
    }
}
