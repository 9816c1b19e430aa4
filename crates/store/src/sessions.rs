//! Sessions: a token's user, and when the token was last used. Joining, logging in and recovering an account
//! start one.

use std::sync::Arc;

use futures_util::FutureExt;
use model::{SessionId, Timestamp, TokenHash, User, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::changes::{Change, LoginAttempt, Notice};
use crate::column::Column;
use crate::error::Error;
use crate::held_names;
use crate::invitations;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;
use crate::users::{self, NewUser, USER_COLUMN_COUNT, USER_COLUMN_LIST, read_user};
use crate::value::Value;

table! {
    /// A row of `sessions`.
    SessionRow = "sessions", key (token_hash) {
        token_hash: TokenHash,
        user_id: UserId,
        created_at: Timestamp,
        last_used_at: Timestamp,
        client: Option<String>,
        network: Option<String>,
    }
}

statements! {
    FIND = sql!("SELECT ", USER_COLUMN_LIST, ", s.created_at, s.last_used_at
        FROM sessions s JOIN users u ON u.id = s.user_id LEFT JOIN photos up ON up.id = u.photo_id
        WHERE s.token_hash = $1");
    TOUCH = "UPDATE sessions SET last_used_at = $1 WHERE token_hash = $2 AND last_used_at < $1";
    END = "DELETE FROM sessions WHERE token_hash = $1";
    SWEEP_IDLE = "DELETE FROM sessions WHERE last_used_at < $1";
    SWEEP_OLD = "DELETE FROM sessions WHERE created_at < $1";
    BY_USER = sql!("SELECT ", SessionRow::COLUMN_LIST, " FROM sessions WHERE user_id = $1
        ORDER BY last_used_at DESC LIMIT 1000");
    TOKENS = "SELECT token_hash FROM sessions WHERE user_id = $1";
    SURPLUS = "SELECT token_hash FROM sessions WHERE user_id = $1 ORDER BY last_used_at DESC LIMIT 1000 OFFSET $2";
    // Changes nothing, but locks the row: a concurrent change of the password either comes first, so that
    // this finds no row, or ends the session that this login starts.
    CONFIRM_PASSWORD = "UPDATE users SET password_hash = password_hash WHERE id = $1 AND password_hash = $2";
}

/// The sessions that a user may have.
const MAX_SESSIONS: i64 = 100;

#[derive(Debug, Clone)]
pub struct NewSession {
    pub token: TokenHash,
    pub started_at: Timestamp,
    /// The client that starts it, and the network that it comes from.
    pub client: Option<String>,
    pub network: Option<String>,
}

/// The result of creating a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinOutcome {
    Joined(User),
    UsernameTaken,
    /// The invitation does not exist, has expired or is used up.
    InvalidInvitation,
}

#[derive(Debug, Clone)]
pub struct Session {
    pub user: Arc<User>,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
}

impl Store {
    /// Creates a user and their first session. With an invitation, the user gets its role, and one use of it
    /// is counted.
    pub async fn join(
        &self,
        mut new: NewUser,
        session: NewSession,
        invitation: Option<TokenHash>,
    ) -> Result<JoinOutcome, Error> {
        self.write(LockKey::Username(new.username.key()), move |tx| {
            async move {
                if let Some(code) = invitation {
                    match invitations::lock(tx, code, new.created_at).await? {
                        Some(role) => new.role = role,
                        None => return Ok(JoinOutcome::InvalidInvitation),
                    }
                }
                let role = new.role;
                let Some(user) = users::insert(tx, new).await? else { return Ok(JoinOutcome::UsernameTaken) };
                if held_names::reject(tx, user.id).await? {
                    return Ok(JoinOutcome::UsernameTaken);
                }
                if let Some(code) = invitation {
                    invitations::count_use(tx, code, role).await?;
                }
                insert(tx, user.id, &session).await?;
                Ok(JoinOutcome::Joined(user))
            }
            .boxed()
        })
        .await
    }

    /// Starts a session of a user whose password was verified against this hash; false if the password has
    /// been changed since.
    pub async fn start_session(
        &self,
        user: UserId,
        password_hash: String,
        session: NewSession,
    ) -> Result<bool, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let confirm = [user.into(), password_hash.as_str().into()];
                if tx.execute(CONFIRM_PASSWORD, &confirm).await? == 0 {
                    return Ok(false);
                }
                insert(tx, user, &session).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    /// The sessions of a user, the last used one first.
    pub async fn sessions(&self, user: UserId) -> Result<Vec<SessionRow>, Error> {
        self.read(move |tx| async move { tx.all(BY_USER, &[user.into()], SessionRow::read).await }.boxed())
            .await
    }

    /// Tells the other nodes of a login attempt.
    pub async fn publish_login(&self, attempt: LoginAttempt) -> Result<(), Error> {
        if !self.is_shared() {
            return Ok(());
        }
        self.write(LockKey::Unshared, move |tx| {
            tx.publish(Change::Notice(Notice::Login(attempt)));
            async { Ok(()) }.boxed()
        })
        .await
    }

    pub async fn session(&self, token: TokenHash) -> Result<Option<Session>, Error> {
        self.read(move |tx| {
            async move {
                tx.first(FIND, &[(&token).into()], |row| {
                    Ok(Session {
                        user: Arc::new(read_user(row, 0)?),
                        created_at: row.timestamp(USER_COLUMN_COUNT)?,
                        last_used_at: row.timestamp(USER_COLUMN_COUNT + 1)?,
                    })
                })
                .await
            }
            .boxed()
        })
        .await
    }

    /// Sets when a session was last used, unless a later time is stored already.
    pub async fn touch_session(&self, token: TokenHash, now: Timestamp) -> Result<(), Error> {
        self.write(token.into(), move |tx| {
            async move {
                tx.publish(Key::session(&token));
                tx.execute(TOUCH, &[now.into(), (&token).into()]).await.map(drop)
            }
            .boxed()
        })
        .await
    }

    /// Deletes a session; returns whether it existed.
    pub async fn end_session(&self, token: TokenHash) -> Result<bool, Error> {
        self.write_freeing(token.into(), move |tx| {
            async move {
                tx.publish(Key::session(&token));
                Ok(tx.execute(END, &[(&token).into()]).await? > 0)
            }
            .boxed()
        })
        .await
    }

    /// Ends one session of a user; returns whether it existed.
    pub async fn end_session_of(&self, user: UserId, id: SessionId) -> Result<bool, Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move { Ok(end_all(tx, user, |token| token.session_id() == id).await? > 0) }.boxed()
        })
        .await
    }

    /// Ends all sessions of a user, as the operator has asked for; returns how many there were.
    pub async fn end_sessions(&self, user: UserId, audit: NewAuditEntry) -> Result<usize, Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move {
                audit_log::append(tx, &audit).await?;
                end_all(tx, user, |_| true).await
            }
            .boxed()
        })
        .await
    }

    /// Ends all sessions of a user but one.
    pub async fn end_other_sessions(&self, user: UserId, kept: TokenHash) -> Result<(), Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move { end_all(tx, user, |token| token != kept).await.map(drop) }.boxed()
        })
        .await
    }
}

/// Starts a session. Those beyond [`MAX_SESSIONS`] end, the longest unused first.
pub(crate) async fn insert(tx: &mut Tx<'_>, user_id: UserId, new: &NewSession) -> Result<(), Error> {
    let NewSession { token: token_hash, started_at: created_at, client, network } = new.clone();
    let row = SessionRow { token_hash, user_id, created_at, last_used_at: created_at, client, network };
    tx.execute(SessionRow::INSERT, &row.values()).await?;
    let surplus =
        tx.all(SURPLUS, &[user_id.into(), MAX_SESSIONS.into()], |row| TokenHash::read(row, 0)).await?;
    end(tx, surplus).await.map(drop)
}

/// Ends the sessions of a user that `is_ended` accepts; returns how many.
pub(crate) async fn end_all(
    tx: &mut Tx<'_>,
    user: UserId,
    is_ended: impl Fn(TokenHash) -> bool,
) -> Result<usize, Error> {
    let mut tokens = tx.all(TOKENS, &[user.into()], |row| TokenHash::read(row, 0)).await?;
    tokens.retain(|token| is_ended(*token));
    end(tx, tokens).await
}

async fn end(tx: &mut Tx<'_>, mut tokens: Vec<TokenHash>) -> Result<usize, Error> {
    if tokens.is_empty() {
        return Ok(0);
    }
    // The locking order of sessions.
    tokens.sort_by_key(|token| token.0);
    for token in &tokens {
        tx.publish(Key::session(token));
    }
    let rows: Vec<Vec<Value<'_>>> = tokens.iter().map(|token| vec![token.into()]).collect();
    tx.execute_each(END, &rows).await
}

/// Deletes sessions last used before `idle_since`, and those from before `started_before`.
pub(crate) async fn sweep(
    tx: &mut Tx<'_>,
    idle_since: Timestamp,
    started_before: Timestamp,
) -> Result<usize, Error> {
    let idle = tx.execute(SWEEP_IDLE, &[idle_since.into()]).await?;
    Ok(idle + tx.execute(SWEEP_OLD, &[started_before.into()]).await?)
}
