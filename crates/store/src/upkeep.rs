//! What nobody asks for but everyone needs: sweeping, counting, a sign of life, and a close look at all of it.

use std::time::Duration;

use futures_util::FutureExt;
use model::{PhotoId, PostId, Timestamp};

use crate::changes::Change;
use crate::error::Error;
use crate::export::SEQUENCES;
use crate::lock_key::LockKey;
use crate::posts;
use crate::sessions;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;

statements! {
    TOTALS = "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM photos";
    PING = "SELECT 1";
    // Touches the one table every write passes through, and changes nothing.
    PING_WRITE = "DELETE FROM uploads WHERE started_at < -1";
    CENSUS = "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM posts), (SELECT count(*) FROM photos),
        (SELECT count(*) FROM likes), (SELECT count(*) FROM sessions), (SELECT count(*) FROM idempotency_keys),
        (SELECT count(*) FROM uploads), (SELECT count(*) FROM removals)";
    LINGERING = "SELECT (SELECT count(*) FROM uploads WHERE started_at < $1),
        (SELECT count(*) FROM removals WHERE since < $1), (SELECT count(*) FROM sessions WHERE last_used_at < $2)";
    // The newest by id, for no index has the times of posts and members.
    NEWEST = "SELECT (SELECT coalesce(max(last_used_at), 0) FROM sessions),
        (SELECT coalesce(max(created_at), 0) FROM posts WHERE id = (SELECT max(id) FROM posts)),
        (SELECT coalesce(max(created_at), 0) FROM users WHERE id = (SELECT max(id) FROM users))";
    MISCOUNTED = "SELECT id, like_count, (SELECT count(*) FROM likes l WHERE l.post_id = p.id) FROM posts p
        WHERE id > $1 AND like_count <> (SELECT count(*) FROM likes l WHERE l.post_id = p.id)
        ORDER BY id LIMIT 1000";
    // Changes nothing: from here on nobody else changes the count, and the next statement sees every like that did.
    HOLD_COUNT = "UPDATE posts SET like_count = like_count WHERE id = $1";
    RECOUNT = "UPDATE posts SET like_count = (SELECT count(*) FROM likes l WHERE l.post_id = posts.id)
        WHERE id = $1 AND like_count <> (SELECT count(*) FROM likes l WHERE l.post_id = posts.id)";
    UNSHOWN = "SELECT id FROM photos WHERE NOT EXISTS (SELECT 1 FROM posts p WHERE p.photo_id = photos.id)
        AND NOT EXISTS (SELECT 1 FROM users u WHERE u.photo_id = photos.id) ORDER BY id LIMIT 1000";
    EXPECTED = "SELECT 1 FROM photos WHERE id = $1 UNION ALL SELECT 1 FROM uploads WHERE photo_id = $1
        UNION ALL SELECT 1 FROM removals WHERE photo_id = $1";
    LARGEST_USER = "SELECT coalesce(max(id), 0) FROM users";
    LARGEST_POST = "SELECT coalesce(max(id), 0) FROM posts";
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub photos: u64,
    pub bytes: u64,
}

/// How much of everything there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    pub users: u64,
    pub posts: u64,
    pub photos: u64,
    pub likes: u64,
    pub sessions: u64,
    pub keys: u64,
    /// Photos on their way in, and on their way out.
    pub claims: u64,
    pub removals: u64,
}

impl Census {
    /// Whether nobody has anything here. What is on its way is nobody's yet, or any more.
    pub fn is_empty(&self) -> bool {
        *self == Self { claims: self.claims, removals: self.removals, ..Self::default() }
    }
}

/// What should have gone by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lingering {
    pub claims: u64,
    pub removals: u64,
    pub sessions: u64,
}

/// A post whose count is not the number of its likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Miscount {
    pub post: PostId,
    pub like_count: i64,
    pub likes: i64,
}

impl Store {
    /// Proves that both reading and writing work.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(|tx| tx.first(PING, &[], |row| row.int(0)).map(|found| found.map(drop)).boxed()).await?;
        self.write(LockKey::Unshared, |tx| {
            tx.execute(PING_WRITE, &[]).map(|touched| touched.map(drop)).boxed()
        })
        .await
    }

    pub async fn totals(&self) -> Result<Totals, Error> {
        let totals = self.read(|tx| {
            tx.first(TOTALS, &[], |row| Ok(Totals { photos: row.unsigned(0)?, bytes: row.unsigned(1)? }))
                .boxed()
        });
        Ok(totals.await?.unwrap_or_default())
    }

    /// Forgets sessions unused for `session_idle` and upload keys older than `key_life`.
    pub async fn sweep(
        &self,
        now: Timestamp,
        session_idle: Duration,
        key_life: Duration,
    ) -> Result<usize, Error> {
        self.write(LockKey::Maintenance, move |tx| {
            async move {
                let sessions = sessions::sweep(tx, now.minus(session_idle)).await?;
                Ok(sessions + posts::sweep_keys(tx, now.minus(key_life)).await?)
            }
            .boxed()
        })
        .await
    }
}

/// For whoever examines everything. These walk through whole tables, apart from those who are in a hurry.
impl Store {
    pub async fn census(&self) -> Result<Census, Error> {
        self.snapshot(|tx| census(tx).boxed()).await
    }

    /// Claims and removals from before `before`, and sessions not used since `expired`.
    pub async fn lingering(&self, before: Timestamp, expired: Timestamp) -> Result<Lingering, Error> {
        let found = self.snapshot(move |tx| {
            async move {
                tx.first(LINGERING, &[before.into(), expired.into()], |row| {
                    Ok(Lingering {
                        claims: row.unsigned(0)?,
                        removals: row.unsigned(1)?,
                        sessions: row.unsigned(2)?,
                    })
                })
                .await
            }
            .boxed()
        });
        found.await?.ok_or_else(no_row)
    }

    /// When something was last written, as far as that can be told at a glance; 1970 where nothing was.
    pub async fn newest(&self) -> Result<Timestamp, Error> {
        let newest = self.snapshot(|tx| {
            tx.first(NEWEST, &[], |row| Ok(row.moment(0)?.max(row.moment(1)?).max(row.moment(2)?))).boxed()
        });
        newest.await?.ok_or_else(no_row)
    }

    /// The first thousand at most.
    pub async fn miscounted(&self) -> Result<Vec<Miscount>, Error> {
        self.miscounted_after(PostId(0)).await
    }

    /// Makes every count the number of likes; tells how many were not. Likes may come and go meanwhile, so each post
    /// is held while it is counted, and only one at a time: whoever holds several may wait in a circle.
    pub async fn recount_likes(&self) -> Result<usize, Error> {
        let (mut last, mut mended) = (PostId(0), 0);
        loop {
            let page = self.miscounted_after(last).await?;
            for Miscount { post, .. } in &page {
                mended += self.recount(*post).await?;
            }
            match page.last() {
                Some(miscount) => last = miscount.post,
                None => return Ok(mended),
            }
        }
    }

    async fn miscounted_after(&self, last: PostId) -> Result<Vec<Miscount>, Error> {
        self.snapshot(move |tx| {
            async move {
                tx.all(MISCOUNTED, &[last.into()], |row| {
                    Ok(Miscount { post: row.post_id(0)?, like_count: row.int(1)?, likes: row.int(2)? })
                })
                .await
            }
            .boxed()
        })
        .await
    }

    async fn recount(&self, post: PostId) -> Result<usize, Error> {
        self.write(LockKey::Post(post), move |tx| {
            async move {
                tx.execute(HOLD_COUNT, &[post.into()]).await?;
                let mended = tx.execute(RECOUNT, &[post.into()]).await?;
                if mended > 0 {
                    tx.record_change(Change::Post(post));
                }
                Ok(mended)
            }
            .boxed()
        })
        .await
    }

    /// Photos that neither a post nor a member shows; the first thousand at most.
    pub async fn unshown_photos(&self) -> Result<Vec<PhotoId>, Error> {
        self.snapshot(|tx| tx.all(UNSHOWN, &[], |row| row.photo_id(0)).boxed()).await
    }

    /// Whether any row speaks of this photo: its own, a claim, or a note of its removal.
    pub async fn expects_bytes(&self, photo: PhotoId) -> Result<bool, Error> {
        let found = self
            .read(move |tx| async move { tx.first(EXPECTED, &[(&photo).into()], |_| Ok(())).await }.boxed());
        Ok(found.await?.is_some())
    }

    /// Tables in which the next id to be handed out is taken already.
    pub async fn exhausted_sequences(&self) -> Result<Vec<&'static str>, Error> {
        self.snapshot(|tx| {
            async move { Ok(behind(tx).await?.into_iter().map(|(table, _)| table).collect()) }.boxed()
        })
        .await
    }

    /// Lets ids begin behind the largest there is, where they would not.
    pub async fn mend_sequences(&self) -> Result<usize, Error> {
        self.write_once(|tx| {
            async move {
                let behind = behind(tx).await?;
                for &(table, largest) in &behind {
                    tx.set_sequence(table, largest).await?;
                }
                Ok(behind.len())
            }
            .boxed()
        })
        .await
    }

    /// What the database itself finds wrong with its files and references.
    pub async fn complaints(&self) -> Result<Vec<String>, Error> {
        self.snapshot(|tx| tx.integrity_errors().boxed()).await
    }

    /// What the database takes the time to be, where that is not this machine's own clock.
    pub async fn clock(&self) -> Result<Option<Timestamp>, Error> {
        self.snapshot(|tx| tx.clock().boxed()).await
    }
}

pub(crate) async fn census(tx: &mut Tx<'_>) -> Result<Census, Error> {
    let counted = tx.first(CENSUS, &[], |row| {
        Ok(Census {
            users: row.unsigned(0)?,
            posts: row.unsigned(1)?,
            photos: row.unsigned(2)?,
            likes: row.unsigned(3)?,
            sessions: row.unsigned(4)?,
            keys: row.unsigned(5)?,
            claims: row.unsigned(6)?,
            removals: row.unsigned(7)?,
        })
    });
    counted.await?.ok_or_else(no_row)
}

/// Sequences that are behind their tables, with the largest id there.
async fn behind(tx: &mut Tx<'_>) -> Result<Vec<(&'static str, i64)>, Error> {
    let mut behind = Vec::new();
    for (table, largest) in SEQUENCES.into_iter().zip([LARGEST_POST, LARGEST_USER]) {
        let largest = tx.first(largest, &[], |row| row.int(0)).await?.unwrap_or(0);
        if tx.last_id(table).await? < largest {
            behind.push((table, largest));
        }
    }
    Ok(behind)
}

fn no_row() -> Error {
    Error::Corrupt("a count returned no row".into())
}
