//! Accounts: join, login, logout, passwords, recovery codes, and authentication by token.

use std::sync::Arc;
use std::time::Duration;

use model::{
    RecoveryCode, Refusal, Registration, Role, Status, Timestamp, Token, TokenHash, User, UserId, Username,
    ValidationError,
};
use store::{JoinOutcome, Key, LoginAttempt, NewSession, NewUser};

use crate::common_passwords::is_common;
use crate::rng::random;
use crate::session_client::SessionClient;
use crate::{App, Caller, Client, Error, Settings, Sources};

/// The user who joined or logged in, and the token of the new session.
#[derive(Debug)]
pub struct NewLogin {
    pub user: User,
    pub token: Token,
}

/// The parameters of a new account.
#[derive(Debug, Default)]
pub struct Join {
    pub username: String,
    pub password: String,
    pub invitation: Option<String>,
    /// Whether the terms of the instance are accepted.
    pub accepts_terms: bool,
}

/// The last use of a session is written at most this often, so that most reads do not write.
const TOUCH_AFTER: Duration = Duration::from_secs(60 * 60);

const PASSWORD_CHANGED: Error = Error::Conflict {
    field: None,
    refusal: Refusal::PasswordChanged,
    message: "another request has changed the password meanwhile; log in with the new one",
};

/// Recovery codes that a user gets at a time.
const RECOVERY_CODES: usize = 10;

impl App {
    pub async fn join(&self, from: &SessionClient, join: Join) -> Result<NewLogin, Error> {
        let inner = &self.0;
        let Join { username, password, invitation, accepts_terms } = join;
        let instance = self.instance().await?;
        // 403 comes before 400.
        check_registration(instance.registration, invitation.is_some())?;
        let username = Username::parse_new(&username).map_err(|rule| Error::invalid("username", rule))?;
        check_new_password(&password, &username, &inner.settings)?;
        let role = match &invitation {
            Some(code) => self.invitation_role(code).await?,
            None => Role::Member,
        };
        if instance.terms.is_some() && !accepts_terms {
            let rule = "the terms of this instance must be accepted; send terms=accepted";
            return Err(Error::invalid("terms", ValidationError::refused(Refusal::TermsNotAccepted, rule)));
        }
        let taken = || Error::Conflict {
            field: Some("username"),
            refusal: Refusal::UsernameTaken,
            message: "this username is taken; choose another",
        };
        // Saves the expensive hash for a taken name; the unique index of the insert below decides.
        if inner.store.credentials(&username).await?.is_some() {
            return Err(taken());
        }
        // Else the role of a configured admin would belong to the first one to join under the name.
        if inner.settings.is_admin(&username) {
            let message = "this username is reserved; choose another";
            return Err(Error::Conflict {
                field: Some("username"),
                refusal: Refusal::UsernameReserved,
                message,
            });
        }
        let password_hash = inner.passwords.hash(from.client(), password).await?;
        let (token, session) = self.new_session(from)?;
        let needs_approval = instance.registration == Registration::Approval && invitation.is_none();
        let status = if needs_approval { Status::Pending } else { Status::Active };
        let (created_at, network) = (session.started_at, Some(from.network()));
        let new = NewUser { username, password_hash, created_at, role, status, network };
        let invitation =
            invitation.and_then(|code| code.parse::<RecoveryCode>().ok()).map(|code| code.hash());
        let user = match inner.store.join(new, session, invitation).await? {
            JoinOutcome::Joined(user) => user,
            JoinOutcome::UsernameTaken => return Err(taken()),
            JoinOutcome::InvalidInvitation => {
                let used = "this invitation has just been used up; ask for another";
                let rule = ValidationError::refused(Refusal::InvitationInvalid, used);
                return Err(Error::invalid("invitation", rule));
            }
        };
        let (user_id, username, client) = (user.id.0, user.username.as_str(), from.address());
        tracing::info!(user_id, username, %client, "user joined");
        Ok(NewLogin { user, token })
    }

    /// The minimum length of a new password, in bytes.
    pub fn min_password(&self) -> usize {
        self.0.settings.min_password
    }

    pub async fn login(
        &self,
        from: &SessionClient,
        username: &str,
        password: String,
    ) -> Result<NewLogin, Error> {
        let inner = &self.0;
        // An invalid username is treated as an unknown one, with the same timing.
        let credentials = match username.parse::<Username>() {
            Ok(username) => inner.store.credentials(&username).await?,
            Err(_) => None,
        };
        let hash = credentials.as_ref().map(|found| found.password_hash.clone());
        let is_correct = inner.passwords.verify(from.client(), password, hash).await?;
        let Some(found) = credentials.as_ref().filter(|_| is_correct) else {
            // Without a name that no account has: it may be a password in the wrong field.
            let user = credentials.as_ref().map(|found| &found.user);
            let (user_id, username) = (user.map(|user| user.id.0), user.map(|user| user.username.as_str()));
            tracing::info!(user_id, username, client = %from.address(), "login failed");
            return Err(Error::WrongCredentials);
        };
        let (token, session) = self.new_session(from)?;
        let user = found.user.clone();
        if !inner.store.start_session(user.id, found.password_hash.clone(), session).await? {
            return Err(Error::WrongCredentials);
        }
        let (user_id, username, client) = (user.id.0, user.username.as_str(), from.address());
        tracing::info!(user_id, username, %client, "logged in");
        Ok(NewLogin { user, token })
    }

    /// Replaces the caller's password, ends all their other sessions, and deletes their recovery codes.
    pub async fn change_password(
        &self,
        client: Client,
        caller: &Caller,
        current: String,
        password: String,
    ) -> Result<(), Error> {
        let inner = &self.0;
        let old = self.confirm_password(client, caller, "current_password", current).await?;
        check_new_password(&password, &caller.user.username, &inner.settings)?;
        let new = inner.passwords.hash(client, password).await?;
        if !inner.store.change_password(caller.user.id, old, new, caller.token).await? {
            return Err(PASSWORD_CHANGED);
        }
        caller.log("password changed");
        Ok(())
    }

    /// Makes new recovery codes for the caller; older ones stop working.
    pub async fn new_recovery_codes(
        &self,
        client: Client,
        caller: &Caller,
        password: String,
    ) -> Result<Vec<RecoveryCode>, Error> {
        let hash = self.confirm_password(client, caller, "password", password).await?;
        let codes: Vec<RecoveryCode> =
            (0..RECOVERY_CODES).map(|_| random().map(RecoveryCode::new)).collect::<Result<_, _>>()?;
        let (hashes, now) = (codes.iter().map(RecoveryCode::hash).collect(), self.0.clock.now());
        if !self.0.store.replace_recovery_codes(caller.user.id, hash, hashes, now).await? {
            return Err(PASSWORD_CHANGED);
        }
        caller.log("recovery codes made");
        Ok(codes)
    }

    /// The number of the caller's unused recovery codes.
    pub async fn recovery_codes(&self, caller: &Caller) -> Result<u64, Error> {
        Ok(self.0.store.recovery_codes(caller.user.id).await?)
    }

    /// Sets a new password by a recovery code, which can be used once. Ends all sessions and codes from
    /// before, and starts a session.
    pub async fn recover(
        &self,
        from: &SessionClient,
        username: &str,
        code: &str,
        password: String,
    ) -> Result<NewLogin, Error> {
        let inner = &self.0;
        let found = match (username.parse::<Username>(), code.parse::<RecoveryCode>()) {
            (Ok(username), Ok(code)) => inner.store.user(&username).await?.map(|user| (user, code.hash())),
            _ => None,
        };
        let Some((user, code)) = found else { return Err(Error::WrongRecoveryCode) };
        let (user_id, username, client) = (user.id.0, user.username.as_str(), from.address());
        if !self.is_usable(user.id, code).await? {
            tracing::info!(user_id, username, %client, "recovery failed");
            return Err(Error::WrongRecoveryCode);
        }
        // After the code, so that the rules do not reveal anything to others, and a code is not lost.
        check_new_password(&password, &user.username, &inner.settings)?;
        let password_hash = inner.passwords.hash(from.client(), password).await?;
        let (token, session) = self.new_session(from)?;
        if !inner.store.recover(user.id, code, password_hash, session).await? {
            return Err(Error::WrongRecoveryCode);
        }
        tracing::info!(user_id, username, %client, "account recovered with a recovery code");
        Ok(NewLogin { user, token })
    }

    /// Whether a recovery code or a reset link opens the account now.
    async fn is_usable(&self, user: UserId, code: TokenHash) -> Result<bool, Error> {
        let (store, now) = (&self.0.store, self.0.clock.now());
        let Some(row) = store.recovery_code(user, code, now).await? else { return Ok(false) };
        let Some(maker) = row.made_by else { return Ok(true) };
        // The configuration may have named the maker as an owner, and name them no more.
        match store.author(maker).await? {
            Some(maker) => Ok(self.grants(&maker).await?.resets),
            None => Ok(false),
        }
    }

    /// Returns the hash of the caller's password; a wrong password is an error of `field`.
    pub(crate) async fn confirm_password(
        &self,
        client: Client,
        caller: &Caller,
        field: &'static str,
        password: String,
    ) -> Result<String, Error> {
        let inner = &self.0;
        let hash = inner.store.credentials(&caller.user.username).await?.map(|found| found.password_hash);
        match hash {
            Some(hash) if inner.passwords.verify(client, password, Some(hash.clone())).await? => Ok(hash),
            _ => Err(Error::WrongPassword { field }),
        }
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
        caller.log("logged out");
        Ok(())
    }

    /// The user of a token; `None` if the token is unknown or its session has expired.
    pub async fn authenticate(&self, client: Client, token: &Token) -> Result<Option<Caller>, Error> {
        self.caller(client, token.hash()).await
    }

    /// The caller as of now, since a body may take long to arrive; `None` if the session has ended.
    pub async fn reauthenticate(&self, caller: &Caller) -> Result<Option<Caller>, Error> {
        self.read_barrier().await?;
        self.caller(caller.client, caller.token).await
    }

    async fn caller(&self, client: Client, token: TokenHash) -> Result<Option<Caller>, Error> {
        let (inner, now) = (&self.0, self.0.clock.now());
        let sources = self.sources();
        // `None` is an error of the fill, so that unknown tokens are not cached.
        let fill = async |sources: Arc<Sources>| {
            sources.add(Key::session(&token));
            let session = inner.store.session(token).await?.ok_or(None::<store::Error>)?;
            sources.add(Key::user(session.user.id));
            Ok(session)
        };
        let session = inner.caches.sessions.get(&sources, token, fill).await;
        let session = match self.settle(&sources, session).await {
            Ok(session) => session,
            Err(None) => return Ok(None),
            Err(Some(error)) => return Err(error.into()),
        };
        if self.is_expired(now, session.created_at, session.last_used_at) {
            return Ok(None);
        }
        let idle = now.since(session.last_used_at);
        if idle >= TOUCH_AFTER.min(inner.settings.session_idle / 100) {
            self.touch(token, now);
        }
        let role = self.role(&session.user);
        let client = client.with_user(session.user.id);
        Ok(Some(Caller { user: session.user, role, client, token }))
    }

    /// The role of a user; those whom the configuration names are owners.
    pub(crate) fn role(&self, user: &User) -> Role {
        if self.0.settings.is_admin(&user.username) { Role::Owner } else { user.role }
    }

    pub(crate) fn is_expired(&self, now: Timestamp, created_at: Timestamp, last_used_at: Timestamp) -> bool {
        now.since(last_used_at) >= self.0.settings.session_idle
            || now.since(created_at) >= Settings::SESSION_AGE
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

    fn new_session(&self, from: &SessionClient) -> Result<(Token, NewSession), Error> {
        let token = Token::new(random()?);
        let session = NewSession {
            token: token.hash(),
            started_at: self.0.clock.now(),
            client: from.name().map(str::to_owned),
            network: Some(from.network().to_string()),
        };
        Ok((token, session))
    }
}

/// Whether joining needs an invitation, given one or not.
fn check_registration(registration: Registration, is_invited: bool) -> Result<(), Error> {
    match registration {
        _ if is_invited => Ok(()),
        Registration::Open | Registration::Approval => Ok(()),
        Registration::Invitation => Err(Error::InvitationRequired),
        Registration::Closed => Err(Error::RegistrationClosed),
    }
}

/// The rules for new passwords. A login does not check them, so that older passwords stay valid.
fn check_new_password(password: &str, username: &Username, settings: &Settings) -> Result<(), Error> {
    let (min, max) = (settings.min_password, Settings::MAX_PASSWORD);
    let broken_rule = if password.len() < min {
        let rule = format!("the password must have at least {min} bytes");
        Error::limit(Refusal::PasswordTooShort, min as u64, rule)
    } else if password.len() > max {
        let rule = format!("the password may have at most {max} bytes");
        Error::limit(Refusal::PasswordTooLong, max as u64, rule)
    } else if settings.common_passwords {
        return Ok(());
    } else if password.eq_ignore_ascii_case(username.as_str()) {
        let rule = "the password must not be the username; choose another";
        ValidationError::refused(Refusal::PasswordIsUsername, rule)
    } else if is_common(password) {
        let rule = "this password is one of the 10,000 most common ones; choose another";
        ValidationError::refused(Refusal::PasswordCommon, rule)
    } else {
        return Ok(());
    };
    Err(Error::invalid("password", broken_rule))
}
