//! Idempotency keys of uploads, and the posts they created, so that a retry does not create a second post.

use model::{PostId, RequestDigest, Timestamp, UserId};

use crate::column::Column;
use crate::error::Error;
use crate::row::Row;
use crate::statements::statements;
use crate::table::table;
use crate::tx::Tx;

table! {
    /// A row of `idempotency_keys`. It outlives its post, so that a late retry cannot create it again.
    IdempotencyKeyRow = "idempotency_keys", key (user_id, key) {
        user_id: UserId,
        key: String,
        post_id: PostId,
        created_at: Timestamp,
        digest: Option<RequestDigest>,
    }
}

/// The idempotency key of a request.
#[derive(Debug, Clone)]
pub struct RequestKey {
    pub key: String,
    pub digest: RequestDigest,
}

statements! {
    FIND = "SELECT post_id, digest FROM idempotency_keys WHERE user_id = $1 AND key = $2 AND created_at > $3";
    // A concurrent upload with the key waits here for the first one's commit, and then affects no row unless
    // the key has expired.
    RESERVE = "INSERT INTO idempotency_keys (user_id, key, post_id, created_at, digest) VALUES ($1, $2, 0, $3, $4)
        ON CONFLICT (user_id, key) DO UPDATE
        SET post_id = 0, created_at = excluded.created_at, digest = excluded.digest
        WHERE idempotency_keys.created_at <= $5";
    ASSIGN = "UPDATE idempotency_keys SET post_id = $1 WHERE user_id = $2 AND key = $3";
    SWEEP = "DELETE FROM idempotency_keys WHERE created_at < $1";
}

/// The post that an upload with this key created after `since`, and the digest of that request.
pub(crate) async fn find(
    tx: &mut Tx<'_>,
    user: UserId,
    key: &str,
    since: Timestamp,
) -> Result<Option<(PostId, Option<RequestDigest>)>, Error> {
    let read = |row: &Row<'_, '_>| Ok((row.post_id(0)?, Column::read(row, 1)?));
    tx.first(FIND, &[user.into(), key.into(), since.into()], read).await
}

/// Reserves a key before its post is created; `false` if an upload after `since` has reserved it.
pub(crate) async fn reserve(
    tx: &mut Tx<'_>,
    user: UserId,
    RequestKey { key, digest }: &RequestKey,
    now: Timestamp,
    since: Timestamp,
) -> Result<bool, Error> {
    let values = [user.into(), key.as_str().into(), now.into(), digest.value(), since.into()];
    Ok(tx.execute(RESERVE, &values).await? > 0)
}

/// Stores the created post with its key.
pub(crate) async fn assign(tx: &mut Tx<'_>, user: UserId, key: &str, post: PostId) -> Result<(), Error> {
    tx.execute(ASSIGN, &[post.into(), user.into(), key.into()]).await.map(drop)
}

/// Deletes keys created before `before`.
pub(crate) async fn sweep(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(SWEEP, &[before.into()]).await
}
