//! What a user has stored, for quotas.

use futures_util::FutureExt;
use model::{Timestamp, UserId};

use crate::error::Error;
use crate::statements::statements;
use crate::store::Store;

statements! {
    // Reads every post of the user.
    BYTES = "SELECT CAST(coalesce(sum(ph.bytes), 0) AS BIGINT) FROM posts p JOIN photos ph ON ph.id = p.photo_id
        WHERE p.user_id = $1";
    NEWEST_PHOTOS = "SELECT photo_id FROM posts WHERE user_id = $1 ORDER BY id DESC LIMIT $2";
}

impl Store {
    /// The size of a user's photos in posts.
    pub async fn bytes_of(&self, user: UserId) -> Result<u64, Error> {
        let bytes = self.read(move |tx| {
            async move { tx.first(BYTES, &[user.into()], |row| row.unsigned(0)).await }.boxed()
        });
        Ok(bytes.await?.unwrap_or(0))
    }

    /// The times of a user's uploads since `since`, newest first, at most `limit`. They are those in the ids
    /// of the photos: an imported post has an earlier `created_at`.
    pub async fn posts_since(
        &self,
        user: UserId,
        since: Timestamp,
        limit: u64,
    ) -> Result<Vec<Timestamp>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let photos = self.read(move |tx| {
            async move { tx.all(NEWEST_PHOTOS, &[user.into(), limit.into()], |row| row.photo_id(0)).await }
                .boxed()
        });
        let times = photos.await?.into_iter().map(|photo| photo.created_at());
        Ok(times.take_while(|at| *at > since).collect())
    }
}
