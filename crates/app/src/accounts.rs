//! Joining, signing in and out, and who is calling.

use std::sync::Arc;
use std::time::Duration;

use model::{Timestamp, Token, TokenHash, User, Username};
use store::{NewSession, NewUser};

use crate::chance::random;
use crate::{App, Error, Settings};

/// Somebody who has just come in: who they are, and the secret that says so from now on.
#[derive(Debug)]
pub struct Entrance {
    pub user: User,
    pub token: Token,
}

/// Somebody whose session we know.
#[derive(Debug, Clone)]
pub struct Caller {
    pub user: Arc<User>,
    pub is_admin: bool,
    token: TokenHash,
}

/// Using a session is noted at most this often, so that reading does not turn into writing.
const TOUCH_AFTER: Duration = Duration::from_secs(60 * 60);

impl App {
    pub async fn join(&self, username: &str, password: String) -> Result<Entrance, Error> {
        let parts = &self.0;
        let username: Username = username.parse().map_err(|rule| Error::invalid("username", rule))?;
        check_new_password(&password, parts.settings.min_password)?;
        let taken =
            || Error::Conflict { field: Some("username"), message: "this username is taken; choose another" };
        // Asked first because hashing is dear; the insert below decides.
        if parts.store.credentials(&username).await?.is_some() {
            return Err(taken());
        }
        let password_hash = parts.passwords.hash(password).await?;
        let (token, session) = self.new_session()?;
        let new = NewUser { username, password_hash, created_at: session.started_at };
        let user = parts.store.join(new, session).await?.ok_or_else(taken)?;
        tracing::info!(user = user.id.0, "joined");
        Ok(Entrance { user, token })
    }

    /// The shortest password a newcomer may choose, in bytes.
    pub fn min_password(&self) -> usize {
        self.0.settings.min_password
    }

    pub async fn login(&self, username: &str, password: String) -> Result<Entrance, Error> {
        let parts = &self.0;
        // A name that breaks the rules is a name nobody has, and is treated alike to the last millisecond.
        let known = match username.parse::<Username>() {
            Ok(username) => parts.store.credentials(&username).await?,
            Err(_) => None,
        };
        let (user, stored) = known.map(|known| (known.user, known.password_hash)).unzip();
        let right = parts.passwords.verify(password, stored).await?;
        let Some(user) = user.filter(|_| right) else { return Err(Error::WrongCredentials) };
        let (token, session) = self.new_session()?;
        parts.store.start_session(user.id, session).await?;
        Ok(Entrance { user, token })
    }

    /// Ends the session the caller came with.
    pub async fn logout(&self, caller: &Caller) -> Result<(), Error> {
        self.0.store.end_session(caller.token).await?;
        Ok(())
    }

    /// Who holds this token; `None` when nobody does, or not any more.
    pub async fn authenticate(&self, token: &Token) -> Result<Option<Caller>, Error> {
        let parts = &self.0;
        let (token, now) = (token.hash(), parts.clock.now());
        // An unknown token is not cached.
        let fill = async || parts.store.session(token).await.map_err(Some)?.ok_or(None::<store::Error>);
        let session = match parts.caches.sessions.get_or_fill(token, fill).await {
            Ok(session) => session,
            Err(None) => return Ok(None),
            Err(Some(error)) => return Err(error.into()),
        };
        let unused = now.since(session.last_used_at);
        if unused >= parts.settings.session_idle {
            return Ok(None);
        }
        if unused >= TOUCH_AFTER.min(parts.settings.session_idle / 100) {
            self.touch(token, now);
        }
        let is_admin = parts.settings.is_admin(&session.user.username);
        Ok(Some(Caller { user: session.user, is_admin, token }))
    }

    /// Notes the use without making the caller wait for the disk.
    fn touch(&self, token: TokenHash, now: Timestamp) {
        let app = self.clone();
        tokio::spawn(async move {
            if let Err(error) = app.0.store.touch_session(token, now).await {
                tracing::warn!(%error, "could not note that a session was used");
            }
        });
    }

    fn new_session(&self) -> Result<(Token, NewSession), Error> {
        let token = Token::new(random()?);
        let session = NewSession { token: token.hash(), started_at: self.0.clock.now() };
        Ok((token, session))
    }
}

fn check_new_password(password: &str, min: usize) -> Result<(), Error> {
    match password.len() {
        length if length < min => {
            Err(Error::invalid("password", format!("the password must have at least {min} bytes")))
        }
        length if length > Settings::MAX_PASSWORD => Err(Error::invalid(
            "password",
            format!("the password may have at most {} bytes", Settings::MAX_PASSWORD),
        )),
        _ => Ok(()),
    }
}
