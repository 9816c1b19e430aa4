//! What a user has stored and posted, and the quotas of both.
//!
//! A quota is checked before an upload is read, and again in the transaction that creates the post. On
//! PostgreSQL that has the advisory lock of the user, so that of concurrent posts each sees those before.

use std::time::Duration;

use futures_util::FutureExt;
use model::{PhotoId, PostId, Timestamp, UserId};

use crate::error::Error;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;

statements! {
    // Reads every post of the user.
    POSTED = "SELECT CAST(coalesce(sum(ph.bytes), 0) AS BIGINT) FROM posts p JOIN photos ph ON ph.id = p.photo_id
        WHERE p.user_id = $1";
    // Without the photo or the upload that is replaced.
    STORED = "SELECT CAST(
        (SELECT coalesce(sum(ph.bytes), 0) FROM posts p JOIN photos ph ON ph.id = p.photo_id WHERE p.user_id = $1)
        + (SELECT coalesce(sum(ph.bytes), 0) FROM users u JOIN photos ph ON ph.id = u.photo_id
            WHERE u.id = $1 AND ph.id <> $2)
        + (SELECT coalesce(sum(received), 0) FROM resumable_uploads
            WHERE user_id = $1 AND is_complete = 0 AND id <> $2) AS BIGINT)";
    COUNT = "INSERT INTO counted_posts (user_id, created_at, post_id) VALUES ($1, $2, $3)";
    COUNTED = "SELECT created_at FROM counted_posts WHERE user_id = $1 AND created_at > $2
        ORDER BY created_at DESC LIMIT $3";
    SWEEP = "DELETE FROM counted_posts WHERE created_at <= $1";
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a user may store and post; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PostQuota {
    /// The size of everything that is stored: photos, and what has arrived of unfinished uploads.
    pub bytes: Option<u64>,
    pub posts_per_day: Option<u64>,
}

/// The quota that an upload would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverQuota {
    Bytes {
        max: u64,
    },
    /// `until` is when the first of these posts no longer counts.
    PostsPerDay {
        max: u64,
        until: Timestamp,
    },
}

impl Store {
    /// The size of a user's photos in posts.
    pub async fn posted_bytes(&self, user: UserId) -> Result<u64, Error> {
        let bytes = self.read_long(move |tx| {
            async move { tx.first(POSTED, &[user.into()], |row| row.unsigned(0)).await }.boxed()
        });
        Ok(bytes.await?.unwrap_or(0))
    }

    /// The size of everything that a user has stored.
    pub async fn stored_bytes(&self, user: UserId) -> Result<u64, Error> {
        self.read_long(move |tx| stored_bytes(tx, user, None).boxed()).await
    }

    /// How many posts a user has made in the 24 hours before `now`, deleted ones included, up to `limit`.
    pub async fn posts_today(&self, user: UserId, now: Timestamp, limit: u64) -> Result<u64, Error> {
        let times = self.read(move |tx| newest_posts(tx, user, now, limit).boxed()).await?;
        Ok(times.len() as u64)
    }

    /// The quota that one more post would exceed. `upload` is the unfinished upload that it replaces.
    pub async fn over_quota(
        &self,
        user: UserId,
        quota: PostQuota,
        upload: Option<PhotoId>,
        now: Timestamp,
    ) -> Result<Option<OverQuota>, Error> {
        let added = (1, upload);
        match quota.bytes {
            Some(_) => self.read_long(move |tx| over_quota(tx, user, quota, added, now).boxed()).await,
            None => self.read(move |tx| over_quota(tx, user, quota, added, now).boxed()).await,
        }
    }
}

/// The size of what is added, and the photo or the unfinished upload that it replaces.
pub(crate) type Added = (u64, Option<PhotoId>);

/// The quota that a post would exceed.
pub(crate) async fn over_quota(
    tx: &mut Tx<'_>,
    user: UserId,
    quota: PostQuota,
    added: Added,
    now: Timestamp,
) -> Result<Option<OverQuota>, Error> {
    if let Some(max) = quota.posts_per_day {
        let today = newest_posts(tx, user, now, max).await?;
        if let Some(first) = today.last().filter(|_| today.len() as u64 >= max) {
            return Ok(Some(OverQuota::PostsPerDay { max, until: first.plus(DAY) }));
        }
    }
    over_bytes(tx, user, quota.bytes, added).await
}

pub(crate) async fn over_bytes(
    tx: &mut Tx<'_>,
    user: UserId,
    max: Option<u64>,
    (bytes, replaced): Added,
) -> Result<Option<OverQuota>, Error> {
    let Some(max) = max else { return Ok(None) };
    let stored = stored_bytes(tx, user, replaced).await?;
    Ok((stored.saturating_add(bytes) > max).then_some(OverQuota::Bytes { max }))
}

/// Counts a post towards the quota of its author.
pub(crate) async fn count(tx: &mut Tx<'_>, user: UserId, post: PostId, now: Timestamp) -> Result<(), Error> {
    tx.execute(COUNT, &[user.into(), now.into(), post.into()]).await.map(drop)
}

/// Deletes what no longer counts.
pub(crate) async fn sweep(tx: &mut Tx<'_>, now: Timestamp) -> Result<usize, Error> {
    tx.execute(SWEEP, &[now.minus(DAY).into()]).await
}

async fn stored_bytes(tx: &mut Tx<'_>, user: UserId, replaced: Option<PhotoId>) -> Result<u64, Error> {
    // No photo has the id of the epoch.
    let replaced = replaced.unwrap_or_else(|| PhotoId::new(Timestamp::from_micros(0), [0; 10]));
    let stored = tx.first(STORED, &[user.into(), (&replaced).into()], |row| row.unsigned(0)).await?;
    Ok(stored.unwrap_or(0))
}

/// The times of a user's posts in the 24 hours before `now`, newest first, at most `limit`. An imported post
/// counts when it was imported.
async fn newest_posts(
    tx: &mut Tx<'_>,
    user: UserId,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<Timestamp>, Error> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.all(COUNTED, &[user.into(), now.minus(DAY).into(), limit.into()], |row| row.timestamp(0)).await
}
