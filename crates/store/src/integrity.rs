//! Integrity checks for `pinhole doctor`, and the repairs that need no decision of the operator.
//!
//! Most checks scan whole tables, so they run outside the pools that serve requests.

use futures_util::FutureExt;
use model::{PhotoId, PostId, Timestamp};

use crate::error::Error;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::photos;
use crate::statements::statements;
use crate::store::Store;
use crate::tables::{TableCounts, sequences};
use crate::tx::Tx;

statements! {
    OVERDUE = "SELECT (SELECT count(*) FROM uploads WHERE started_at < $1),
        (SELECT count(*) FROM removals WHERE since < $1), (SELECT count(*) FROM sessions WHERE last_used_at < $2)";
    // The newest post and user by id, because their `created_at` is not indexed.
    NEWEST = "SELECT (SELECT coalesce(max(last_used_at), 0) FROM sessions),
        (SELECT coalesce(max(created_at), 0) FROM posts WHERE id = (SELECT max(id) FROM posts)),
        (SELECT coalesce(max(created_at), 0) FROM users WHERE id = (SELECT max(id) FROM users))";
    MISCOUNTED = "SELECT id, like_count, (SELECT count(*) FROM likes l WHERE l.post_id = p.id) FROM posts p
        WHERE id > $1 AND like_count <> (SELECT count(*) FROM likes l WHERE l.post_id = p.id)
        ORDER BY id LIMIT 1000";
    // Changes nothing, but locks the row: the next statement sees every like that is in the count.
    LOCK_COUNT = "UPDATE posts SET like_count = like_count WHERE id = $1";
    RECOUNT = "UPDATE posts SET like_count = (SELECT count(*) FROM likes l WHERE l.post_id = posts.id)
        WHERE id = $1 AND like_count <> (SELECT count(*) FROM likes l WHERE l.post_id = posts.id)";
    UNREFERENCED = "SELECT id FROM photos WHERE NOT EXISTS (SELECT 1 FROM posts p WHERE p.photo_id = photos.id)
        AND NOT EXISTS (SELECT 1 FROM users u WHERE u.photo_id = photos.id) ORDER BY id LIMIT 1000";
    REFERENCES = "SELECT 1 FROM photos WHERE id = $1 UNION ALL SELECT 1 FROM uploads WHERE photo_id = $1
        UNION ALL SELECT 1 FROM removals WHERE photo_id = $1
        UNION ALL SELECT 1 FROM resumable_uploads WHERE id = $1";
}

/// Rows that maintenance should have deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverdueCounts {
    pub uploads: u64,
    pub removals: u64,
    pub sessions: u64,
}

/// A post whose `like_count` differs from the number of its rows in `likes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Miscount {
    pub post: PostId,
    pub like_count: i64,
    pub likes: i64,
}

impl Store {
    pub async fn table_counts(&self) -> Result<TableCounts, Error> {
        self.snapshot(|tx| TableCounts::select(tx).boxed()).await
    }

    /// Counts uploads and removals from before `before`, and sessions last used before `expired`.
    pub async fn overdue(&self, before: Timestamp, expired: Timestamp) -> Result<OverdueCounts, Error> {
        let counts = self.snapshot(move |tx| {
            async move {
                tx.first(OVERDUE, &[before.into(), expired.into()], |row| {
                    Ok(OverdueCounts {
                        uploads: row.unsigned(0)?,
                        removals: row.unsigned(1)?,
                        sessions: row.unsigned(2)?,
                    })
                })
                .await
            }
            .boxed()
        });
        counts.await?.ok_or_else(no_row)
    }

    /// The newest of the last session use, the last post and the last user; 1970 in an empty database.
    pub async fn newest_timestamp(&self) -> Result<Timestamp, Error> {
        let newest = self.snapshot(|tx| {
            tx.first(NEWEST, &[], |row| Ok(row.timestamp(0)?.max(row.timestamp(1)?).max(row.timestamp(2)?)))
                .boxed()
        });
        newest.await?.ok_or_else(no_row)
    }

    /// Posts with a wrong `like_count`, at most 1000.
    pub async fn miscounted_posts(&self) -> Result<Vec<Miscount>, Error> {
        self.miscounted_after(PostId(0)).await
    }

    /// Sets every wrong `like_count` to the number of likes; returns how many were wrong. Likes may change
    /// concurrently, so each post is locked while it is counted, and one at a time: locking several may
    /// deadlock.
    pub async fn recount_likes(&self) -> Result<usize, Error> {
        let (mut last, mut fixed) = (PostId(0), 0);
        loop {
            let page = self.miscounted_after(last).await?;
            for Miscount { post, .. } in &page {
                fixed += self.recount(*post).await?;
            }
            match page.last() {
                Some(miscount) => last = miscount.post,
                None => return Ok(fixed),
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
                tx.execute(LOCK_COUNT, &[post.into()]).await?;
                let fixed = tx.execute(RECOUNT, &[post.into()]).await?;
                if fixed > 0 {
                    tx.publish(Key::likes_of(post));
                }
                Ok(fixed)
            }
            .boxed()
        })
        .await
    }

    /// Photos that no post and no user references, at most 1000.
    pub async fn unreferenced_photos(&self) -> Result<Vec<PhotoId>, Error> {
        self.snapshot(|tx| tx.all(UNREFERENCED, &[], |row| row.photo_id(0)).boxed()).await
    }

    /// Deletes photos that no post and no user references, and schedules their files for deletion; returns
    /// how many there were. For a restore that has skipped their posts.
    pub async fn delete_unreferenced_photos(&self, now: Timestamp) -> Result<usize, Error> {
        let mut deleted = 0;
        loop {
            let page = self.unreferenced_photos().await?;
            if page.is_empty() {
                return Ok(deleted);
            }
            deleted += page.len();
            self.write(LockKey::Maintenance, move |tx| {
                async move {
                    for photo in page {
                        photos::delete(tx, photo, now).await?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        }
    }

    /// Whether a row of `photos`, `uploads`, `removals` or `resumable_uploads` has this id. If not, its
    /// files are orphans.
    pub async fn is_photo_referenced(&self, photo: PhotoId) -> Result<bool, Error> {
        let found = self.read(move |tx| {
            async move { tx.first(REFERENCES, &[(&photo).into()], |_| Ok(())).await }.boxed()
        });
        Ok(found.await?.is_some())
    }

    /// Tables whose sequence is behind their largest id, so that an insert would fail.
    pub async fn lagging_sequences(&self) -> Result<Vec<&'static str>, Error> {
        self.snapshot(|tx| {
            async move { Ok(lagging(tx).await?.into_iter().map(|(table, _)| table).collect()) }.boxed()
        })
        .await
    }

    /// Sets lagging sequences to the largest id of their tables; returns how many there were.
    pub async fn fix_sequences(&self) -> Result<usize, Error> {
        self.write_once(|tx| {
            async move {
                let lagging = lagging(tx).await?;
                for &(table, largest) in &lagging {
                    tx.set_sequence(table, largest).await?;
                }
                Ok(lagging.len())
            }
            .boxed()
        })
        .await
    }

    /// The errors that SQLite's integrity and foreign-key checks report; none on PostgreSQL.
    pub async fn integrity_errors(&self) -> Result<Vec<String>, Error> {
        self.snapshot(|tx| tx.integrity_errors().boxed()).await
    }

    /// The database server's time; `None` on SQLite, which runs in this process.
    pub async fn clock(&self) -> Result<Option<Timestamp>, Error> {
        self.snapshot(|tx| tx.clock().boxed()).await
    }
}

/// Tables whose sequence is behind their largest id, with that id.
async fn lagging(tx: &mut Tx<'_>) -> Result<Vec<(&'static str, i64)>, Error> {
    let mut lagging = Vec::new();
    for (table, largest_id) in sequences() {
        let largest = tx.first(largest_id, &[], |row| row.int(0)).await?.unwrap_or(0);
        if tx.last_id(table).await? < largest {
            lagging.push((table, largest));
        }
    }
    Ok(lagging)
}

fn no_row() -> Error {
    Error::Corrupt("an aggregate query returned no row".into())
}
