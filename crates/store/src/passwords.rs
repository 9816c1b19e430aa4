//! New passwords, which end sessions, and the one-time codes that set one without the old password.

use futures_util::FutureExt;
use model::{Role, Timestamp, TokenHash, User, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::error::Error;
use crate::held_names;
use crate::invitations;
use crate::lock_key::LockKey;
use crate::sessions::{self, NewSession};
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tx::Tx;
use crate::users::{self, NewUser};
use crate::value::Value;

table! {
    /// A row of `recovery_codes`. `made_by` is the owner who has made a reset link; NULL for the operator.
    RecoveryCodeRow = "recovery_codes", key (code_hash) {
        code_hash: TokenHash,
        user_id: UserId,
        created_at: Timestamp,
        expires_at: Option<Timestamp>,
        made_by: Option<UserId>,
    }
}

statements! {
    // Changes nothing, but locks the row: of two concurrent writes, the second sees the codes of the first.
    LOCK = "UPDATE users SET password_hash = password_hash WHERE id = $1 AND password_hash = $2";
    LOCK_USER = "UPDATE users SET password_hash = password_hash WHERE id = $1";
    REPLACE = "UPDATE users SET password_hash = $1 WHERE id = $2 AND password_hash = $3";
    SET = "UPDATE users SET password_hash = $1 WHERE id = $2";
    USE_CODE = "DELETE FROM recovery_codes WHERE code_hash = $1 AND user_id = $2 AND coalesce(expires_at, $3) >= $3";
    DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
    // Without those of the operator, which expire.
    COUNT_CODES = "SELECT count(*) FROM recovery_codes WHERE user_id = $1 AND expires_at IS NULL";
    FIND_CODE = sql!("SELECT ", RecoveryCodeRow::COLUMN_LIST, " FROM recovery_codes
        WHERE code_hash = $1 AND user_id = $2 AND coalesce(expires_at, $3) >= $3");
}

impl Store {
    /// Replaces a password that was verified against the hash `old`, and ends all other access but the
    /// session `kept`; false if the password has been changed since.
    pub async fn change_password(
        &self,
        user: UserId,
        old: String,
        new: String,
        kept: TokenHash,
    ) -> Result<bool, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let replace = [new.as_str().into(), user.into(), old.as_str().into()];
                if tx.execute(REPLACE, &replace).await? == 0 {
                    return Ok(false);
                }
                end_access(tx, user, Some(kept)).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    /// Replaces all recovery codes of a user whose password was verified against this hash; false if the
    /// password has been changed since.
    pub async fn replace_recovery_codes(
        &self,
        user: UserId,
        password_hash: String,
        codes: Vec<TokenHash>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                if tx.execute(LOCK, &[user.into(), password_hash.as_str().into()]).await? == 0 {
                    return Ok(false);
                }
                tx.execute(DELETE_CODES, &[user.into()]).await?;
                let rows: Vec<RecoveryCodeRow> = codes
                    .into_iter()
                    .map(|code_hash| RecoveryCodeRow {
                        code_hash,
                        user_id: user,
                        created_at: now,
                        expires_at: None,
                        made_by: None,
                    })
                    .collect();
                let values: Vec<Vec<Value<'_>>> = rows.iter().map(TableRow::values).collect();
                tx.execute_each(RecoveryCodeRow::INSERT, &values).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    /// Creates a user without a session, who sets a password by this code; `None` when the username is taken.
    /// The operator may give a name that is held to someone.
    pub async fn add_user(
        &self,
        new: NewUser,
        code: TokenHash,
        expires_at: Timestamp,
        audit: NewAuditEntry,
    ) -> Result<Option<User>, Error> {
        self.write(LockKey::Username(new.username.key()), move |tx| {
            async move {
                let (now, key) = (new.created_at, new.username.key());
                let Some(user) = users::insert(tx, new).await? else { return Ok(None) };
                held_names::release(tx, &key).await?;
                if user.role == Role::Owner {
                    invitations::delete_for_owner(tx).await?;
                }
                let row = RecoveryCodeRow {
                    code_hash: code,
                    user_id: user.id,
                    created_at: now,
                    expires_at: Some(expires_at),
                    made_by: None,
                };
                tx.execute(RecoveryCodeRow::INSERT, &row.values()).await?;
                audit_log::append(tx, &audit).await?;
                Ok(Some(user))
            }
            .boxed()
        })
        .await
    }

    /// Resets a password: adds a recovery code that expires, which an owner or the operator hands to the
    /// user, and ends all access from before.
    pub async fn reset_password(&self, row: RecoveryCodeRow, audit: NewAuditEntry) -> Result<(), Error> {
        self.write(LockKey::User(row.user_id), move |tx| {
            async move {
                tx.execute(LOCK_USER, &[row.user_id.into()]).await?;
                end_access(tx, row.user_id, None).await?;
                tx.execute(RecoveryCodeRow::INSERT, &row.values()).await?;
                audit_log::append(tx, &audit).await
            }
            .boxed()
        })
        .await
    }

    /// The number of unused recovery codes of a user.
    pub async fn recovery_codes(&self, user: UserId) -> Result<u64, Error> {
        let count = self.read(move |tx| {
            async move { tx.first(COUNT_CODES, &[user.into()], |row| row.unsigned(0)).await }.boxed()
        });
        Ok(count.await?.unwrap_or(0))
    }

    /// An unused recovery code of the user that has not expired.
    pub async fn recovery_code(
        &self,
        user: UserId,
        code: TokenHash,
        now: Timestamp,
    ) -> Result<Option<RecoveryCodeRow>, Error> {
        self.read(move |tx| {
            async move {
                let params = [(&code).into(), user.into(), now.into()];
                tx.first(FIND_CODE, &params, RecoveryCodeRow::read).await
            }
            .boxed()
        })
        .await
    }

    /// Uses a recovery code: sets the password, ends all access from before and starts a session; false if
    /// the code does not exist.
    pub async fn recover(
        &self,
        user: UserId,
        code: TokenHash,
        password_hash: String,
        session: NewSession,
    ) -> Result<bool, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                tx.execute(LOCK_USER, &[user.into()]).await?;
                if tx.execute(USE_CODE, &[(&code).into(), user.into(), session.started_at.into()]).await? == 0
                {
                    return Ok(false);
                }
                tx.execute(SET, &[password_hash.as_str().into(), user.into()]).await?;
                end_access(tx, user, None).await?;
                sessions::insert(tx, user, &session).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }
}

/// Ends what opens an account besides its password: recovery codes, reset links, and all sessions but `kept`.
/// Someone who knew the old password, or one of them, may have the others.
pub(crate) async fn end_access(tx: &mut Tx<'_>, user: UserId, kept: Option<TokenHash>) -> Result<(), Error> {
    tx.execute(DELETE_CODES, &[user.into()]).await?;
    sessions::end_all(tx, user, |token| Some(token) != kept).await.map(drop)
}
