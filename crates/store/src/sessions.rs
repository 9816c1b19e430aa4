//! Sessions: a token's user, and when the token was last used. Joining and logging in start one.

use std::sync::Arc;

use futures_util::FutureExt;
use model::{Timestamp, TokenHash, User, UserId};

use crate::changes::{Change, LoginAttempt};
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;
use crate::users::{self, NewUser, USER_COLUMN_COUNT, USER_COLUMN_LIST, read_user};

table! {
    /// A row of `sessions`.
    SessionRow = "sessions", key (token_hash) {
        token_hash: TokenHash,
        user_id: UserId,
        created_at: Timestamp,
        last_used_at: Timestamp,
    }
}

statements! {
    FIND = sql!("SELECT ", USER_COLUMN_LIST, ", s.last_used_at
        FROM sessions s JOIN users u ON u.id = s.user_id LEFT JOIN photos up ON up.id = u.photo_id
        WHERE s.token_hash = $1");
    TOUCH = "UPDATE sessions SET last_used_at = $1 WHERE token_hash = $2 AND last_used_at < $1";
    END = "DELETE FROM sessions WHERE token_hash = $1";
    SWEEP = "DELETE FROM sessions WHERE last_used_at < $1";
}

#[derive(Debug, Clone)]
pub struct NewSession {
    pub token: TokenHash,
    pub started_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Session {
    pub user: Arc<User>,
    pub last_used_at: Timestamp,
}

impl Store {
    /// Creates a user and their first session; `None` when the username is taken.
    pub async fn join(&self, new: NewUser, session: NewSession) -> Result<Option<User>, Error> {
        self.write(LockKey::Username(new.username.key()), move |tx| {
            async move {
                let user = users::insert(tx, new).await?;
                if let Some(user) = &user {
                    insert(tx, user.id, &session).await?;
                }
                Ok(user)
            }
            .boxed()
        })
        .await
    }

    pub async fn start_session(&self, user: UserId, session: NewSession) -> Result<(), Error> {
        self.write(LockKey::Unshared, move |tx| async move { insert(tx, user, &session).await }.boxed()).await
    }

    /// Tells the other nodes of a login attempt.
    pub async fn publish_login(&self, attempt: LoginAttempt) -> Result<(), Error> {
        if !self.is_shared() {
            return Ok(());
        }
        self.write(LockKey::Unshared, move |tx| {
            tx.record_change(Change::Login(attempt));
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
                        last_used_at: row.timestamp(USER_COLUMN_COUNT)?,
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
                tx.record_change(Change::Session(token));
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
                tx.record_change(Change::Session(token));
                Ok(tx.execute(END, &[(&token).into()]).await? > 0)
            }
            .boxed()
        })
        .await
    }
}

async fn insert(tx: &mut Tx<'_>, user_id: UserId, new: &NewSession) -> Result<(), Error> {
    let (token_hash, created_at) = (new.token, new.started_at);
    let row = SessionRow { token_hash, user_id, created_at, last_used_at: created_at };
    tx.execute(SessionRow::INSERT, &row.values()).await.map(drop)
}

/// Deletes sessions last used before `before`.
pub(crate) async fn sweep(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(SWEEP, &[before.into()]).await
}
