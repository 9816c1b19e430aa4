//! New passwords, which end sessions, and the one-time codes that set one without the old password.

use futures_util::FutureExt;
use model::{Timestamp, TokenHash, UserId};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::sessions::{self, NewSession};
use crate::statements::statements;
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::value::Value;

table! {
    /// A row of `recovery_codes`.
    RecoveryCodeRow = "recovery_codes", key (code_hash) {
        code_hash: TokenHash,
        user_id: UserId,
        created_at: Timestamp,
    }
}

statements! {
    // Changes nothing, but locks the row: of two concurrent writes, the second sees the codes of the first.
    LOCK = "UPDATE users SET password_hash = password_hash WHERE id = $1 AND password_hash = $2";
    LOCK_USER = "UPDATE users SET password_hash = password_hash WHERE id = $1";
    REPLACE = "UPDATE users SET password_hash = $1 WHERE id = $2 AND password_hash = $3";
    SET = "UPDATE users SET password_hash = $1 WHERE id = $2";
    USE_CODE = "DELETE FROM recovery_codes WHERE code_hash = $1 AND user_id = $2";
    DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
    COUNT_CODES = "SELECT count(*) FROM recovery_codes WHERE user_id = $1";
    HAS_CODE = "SELECT 1 FROM recovery_codes WHERE code_hash = $1 AND user_id = $2";
}

impl Store {
    /// Replaces a password that was verified against the hash `old`, and ends all sessions but `kept`; false
    /// if the password has been changed since.
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
                // Someone who knew the old password may have made some.
                tx.execute(DELETE_CODES, &[user.into()]).await?;
                sessions::end_all(tx, user, |token| token != kept).await?;
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
                    .map(|code_hash| RecoveryCodeRow { code_hash, user_id: user, created_at: now })
                    .collect();
                let values: Vec<Vec<Value<'_>>> = rows.iter().map(TableRow::values).collect();
                tx.execute_each(RecoveryCodeRow::INSERT, &values).await?;
                Ok(true)
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

    /// Whether the user has this unused recovery code.
    pub async fn has_recovery_code(&self, user: UserId, code: TokenHash) -> Result<bool, Error> {
        let found = self.read(move |tx| {
            async move { tx.first(HAS_CODE, &[(&code).into(), user.into()], |_| Ok(())).await }.boxed()
        });
        Ok(found.await?.is_some())
    }

    /// Uses a recovery code: sets the password, ends all sessions and starts a new one; false if the code
    /// does not exist.
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
                if tx.execute(USE_CODE, &[(&code).into(), user.into()]).await? == 0 {
                    return Ok(false);
                }
                tx.execute(SET, &[password_hash.as_str().into(), user.into()]).await?;
                sessions::end_all(tx, user, |_| true).await?;
                sessions::insert(tx, user, &session).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }
}
