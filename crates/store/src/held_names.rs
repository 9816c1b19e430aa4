//! Names that are not free although no account has them: those of accounts that were suspended, or that
//! others have deleted.

use model::{Timestamp, UserId};

use crate::error::Error;
use crate::statements::statements;
use crate::table::table;
use crate::tx::Tx;

table! {
    /// A row of `held_names`.
    HeldNameRow = "held_names", key (username_key) {
        username_key: String,
        held_at: Timestamp,
    }
}

statements! {
    HOLD = "INSERT INTO held_names (username_key, held_at) SELECT username_key, CAST($1 AS BIGINT) FROM users
        WHERE id = $2 AND status IN ('suspended', 'hidden') ON CONFLICT (username_key) DO NOTHING";
    HOLD_BANNED = "INSERT INTO held_names (username_key, held_at) SELECT username_key, CAST($1 AS BIGINT) FROM users
        WHERE id = $2 AND status <> 'pending' ON CONFLICT (username_key) DO NOTHING";
    RELEASE = "DELETE FROM held_names WHERE username_key = $1";
    REJECT = "DELETE FROM users
        WHERE id = $1 AND EXISTS (SELECT 1 FROM held_names h WHERE h.username_key = users.username_key)";
}

/// Holds the name of an account that is about to be deleted: that of a suspended one, and that of any which
/// others than its user delete, unless it was never approved.
pub(crate) async fn hold(tx: &mut Tx<'_>, user: UserId, now: Timestamp, is_own: bool) -> Result<(), Error> {
    let statement = if is_own { HOLD } else { HOLD_BANNED };
    tx.execute(statement, &[now.into(), user.into()]).await.map(drop)
}

/// Makes a name free again.
pub(crate) async fn release(tx: &mut Tx<'_>, username_key: &str) -> Result<(), Error> {
    tx.execute(RELEASE, &[username_key.into()]).await.map(drop)
}

/// Takes back the user that this transaction has inserted, if the name is held; returns whether it is. After
/// the insert, which waits for a concurrent deletion of the account with that name.
pub(crate) async fn reject(tx: &mut Tx<'_>, user: UserId) -> Result<bool, Error> {
    Ok(tx.execute(REJECT, &[user.into()]).await? > 0)
}
