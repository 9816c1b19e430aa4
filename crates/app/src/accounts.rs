//! Accounts: join, login, logout, and authentication by token.

use std::sync::Arc;
use std::time::Duration;

use model::{Timestamp, Token, TokenHash, User, Username};
use store::{LoginAttempt, NewSession, NewUser};

use crate::common_passwords::is_common;
use crate::rng::random;
use crate::{App, Client, Error, Settings};

/// The user who joined or logged in, and the token of the new session.
#[derive(Debug)]
pub struct NewLogin {
    pub user: User,
    pub token: Token,
}

/// The authenticated user of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    pub user: Arc<User>,
    pub is_admin: bool,
    token: TokenHash,
}

/// The last use of a session is written at most this often, so that most reads do not write.
const TOUCH_AFTER: Duration = Duration::from_secs(60 * 60);

impl App {
    pub async fn join(&self, client: Client, username: &str, password: String) -> Result<NewLogin, Error> {
        let inner = &self.0;
        let username = Username::parse_new(username).map_err(|rule| Error::invalid("username", rule))?;
        check_new_password(&password, &username, &inner.settings)?;
        let taken =
            || Error::Conflict { field: Some("username"), message: "this username is taken; choose another" };
        // Saves the expensive hash for a taken name; the unique index of the insert below decides.
        if inner.store.credentials(&username).await?.is_some() {
            return Err(taken());
        }
        // Else the role of a configured admin would belong to the first one to join under the name.
        if inner.settings.is_admin(&username) {
            let message = "this username is reserved; choose another";
            return Err(Error::Conflict { field: Some("username"), message });
        }
        let password_hash = inner.passwords.hash(client, password).await?;
        let (token, session) = self.new_session()?;
        let new = NewUser { username, password_hash, created_at: session.started_at };
        let user = inner.store.join(new, session).await?.ok_or_else(taken)?;
        tracing::info!(user = user.id.0, "user joined");
        Ok(NewLogin { user, token })
    }

    /// The minimum length of a new password, in bytes.
    pub fn min_password(&self) -> usize {
        self.0.settings.min_password
    }

    pub async fn login(&self, client: Client, username: &str, password: String) -> Result<NewLogin, Error> {
        let inner = &self.0;
        // An invalid username is treated as an unknown one, with the same timing.
        let credentials = match username.parse::<Username>() {
            Ok(username) => inner.store.credentials(&username).await?,
            Err(_) => None,
        };
        let (user, hash) = credentials.map(|found| (found.user, found.password_hash)).unzip();
        let is_correct = inner.passwords.verify(client, password, hash).await?;
        let Some(user) = user.filter(|_| is_correct) else { return Err(Error::WrongCredentials) };
        let (token, session) = self.new_session()?;
        inner.store.start_session(user.id, session).await?;
        Ok(NewLogin { user, token })
    }

    /// Tells the other nodes of a login attempt. The response does not depend on it, so an error is only
    /// logged.
    pub async fn publish_login(&self, attempt: LoginAttempt) {
        if let Err(error) = self.0.store.publish_login(attempt).await {
            tracing::warn!(%error, "login attempt is counted by this node only");
        }
    }

    /// Deletes the session of the request.
    pub async fn logout(&self, caller: &Caller) -> Result<(), Error> {
        self.0.store.end_session(caller.token).await?;
        Ok(())
    }

    /// The user of a token; `None` if the token is unknown or its session has expired.
    pub async fn authenticate(&self, token: &Token) -> Result<Option<Caller>, Error> {
        let inner = &self.0;
        let (token, now) = (token.hash(), inner.clock.now());
        // `None` is an error of the fill, so that unknown tokens are not cached.
        let fill = async || inner.store.session(token).await.map_err(Some)?.ok_or(None::<store::Error>);
        let session = match inner.caches.sessions.get_or_fill(token, fill).await {
            Ok(session) => session,
            Err(None) => return Ok(None),
            Err(Some(error)) => return Err(error.into()),
        };
        let idle = now.since(session.last_used_at);
        let is_expired = idle >= inner.settings.session_idle;
        if is_expired {
            return Ok(None);
        }
        if idle >= TOUCH_AFTER.min(inner.settings.session_idle / 100) {
            self.touch(token, now);
        }
        let is_admin = inner.settings.is_admin(&session.user.username);
        Ok(Some(Caller { user: session.user, is_admin, token }))
    }

    /// Records the use of a session in the background: the request does not wait for the write.
    fn touch(&self, token: TokenHash, now: Timestamp) {
        let app = self.clone();
        tokio::spawn(async move {
            if let Err(error) = app.0.store.touch_session(token, now).await {
                tracing::warn!(%error, "session touch failed");
            }
        });
    }

    fn new_session(&self) -> Result<(Token, NewSession), Error> {
        let token = Token::new(random()?);
        let session = NewSession { token: token.hash(), started_at: self.0.clock.now() };
        Ok((token, session))
    }
}

/// The rules for new passwords. A login does not check them, so that older passwords stay valid.
fn check_new_password(password: &str, username: &Username, settings: &Settings) -> Result<(), Error> {
    let (min, max) = (settings.min_password, Settings::MAX_PASSWORD);
    let broken_rule = if password.len() < min {
        format!("the password must have at least {min} bytes")
    } else if password.len() > max {
        format!("the password may have at most {max} bytes")
    } else if settings.common_passwords {
        return Ok(());
    } else if password.eq_ignore_ascii_case(username.as_str()) {
        "the password must not be the username; choose another".into()
    } else if is_common(password) {
        "this password is one of the 10,000 most common ones; choose another".into()
    } else {
        return Ok(());
    };
    Err(Error::invalid("password", broken_rule))
}
