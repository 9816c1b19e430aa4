//! Writes the likes of a batch together, as one transaction in one round trip: a statement for all new likes
//! and one for all that are removed, each with the counts of their posts and the changes for other nodes.
//!
//! `likes` has no foreign keys, whose checks would lock a row of `posts` and one of `users` for every like. A
//! batch has the exclusive lock of every post that it likes, and so has a delete of a post.

use std::collections::HashSet;

use model::{PostId, UserId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::tx::{AdvisoryLocks, CommitError, PostgresTx};
use crate::changes::{Change, encode};
use crate::error::Error;
use crate::key::Key;
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::work::ResultSlot;

// Each returns the likes that it has changed. If these are not all, it also returns the posts that exist,
// without a user: from the same snapshot, so that a post which is created meanwhile does not count as liked
// already.
const INSERT: &str = "WITH published AS (
        INSERT INTO changes (encoded) VALUES ($1)
    ), wanted AS MATERIALIZED (
        SELECT l.user_id, l.post_id, l.created_at
        FROM unnest(CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[])) AS l (user_id, post_id, created_at)
        JOIN posts p ON p.id = l.post_id AND p.hidden_reason IS NULL
        JOIN users u ON u.id = l.user_id AND u.status <> 'deleted'
        WHERE current_setting('pinhole.locked', true) = 'yes'
    ), changed AS (
        INSERT INTO likes (user_id, post_id, created_at) SELECT user_id, post_id, created_at FROM wanted
        ON CONFLICT (user_id, post_id) DO NOTHING
        RETURNING user_id, post_id
    ), counted AS (
        UPDATE posts SET like_count = like_count + c.likes
        FROM (SELECT post_id, count(*) AS likes FROM changed GROUP BY post_id) c WHERE posts.id = c.post_id
    )
    SELECT user_id, post_id FROM changed
    UNION ALL SELECT NULL, post_id FROM wanted WHERE (SELECT count(*) FROM changed) < cardinality($2)";
const DELETE: &str = "WITH published AS (
        INSERT INTO changes (encoded) VALUES ($1)
    ), wanted AS MATERIALIZED (
        SELECT l.user_id, l.post_id
        FROM unnest(CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[])) AS l (user_id, post_id)
        JOIN posts p ON p.id = l.post_id
        WHERE current_setting('pinhole.locked', true) = 'yes'
    ), changed AS (
        DELETE FROM likes l USING wanted w WHERE l.user_id = w.user_id AND l.post_id = w.post_id
        RETURNING l.user_id, l.post_id
    ), counted AS (
        UPDATE posts SET like_count = like_count - c.likes
        FROM (SELECT post_id, count(*) AS likes FROM changed GROUP BY post_id) c WHERE posts.id = c.post_id
    )
    SELECT user_id, post_id FROM changed
    UNION ALL SELECT NULL, post_id FROM wanted WHERE (SELECT count(*) FROM changed) < cardinality($2)";

/// Writes and commits likes, and puts the outcome of each into its slot. `locks` are those of their posts.
pub(super) async fn write(
    tx: &mut PostgresTx,
    locks: &AdvisoryLocks,
    likes: &[(LikeWrite, &ResultSlot<LikeOutcome>)],
) -> Result<(), CommitError> {
    let (set, removed): (Vec<_>, Vec<_>) = likes.iter().partition(|(like, _)| like.liked_at.is_some());
    let (set_columns, removed_columns) = (Columns::of(&set), Columns::of(&removed));
    let (insert, delete) = (set_columns.insert_params(), removed_columns.delete_params());
    let all: [(&'static str, &[&(dyn ToSql + Sync)], &[_]); 2] =
        [(INSERT, &insert, &set), (DELETE, &delete, &removed)];
    let sent: Vec<_> = all.into_iter().filter(|(.., likes)| !likes.is_empty()).collect();
    let statements: Vec<_> = sent.iter().map(|(sql, params, _)| (*sql, *params)).collect();
    let responses = tx.run_pipelined(locks, &statements).await?;
    for ((.., likes), rows) in sent.iter().zip(&responses) {
        // Committed: an error from here on does not mean that it was rolled back.
        put_outcomes(likes, rows).map_err(CommitError::Unknown)?;
    }
    Ok(())
}

/// Puts the outcome of each like into its slot.
fn put_outcomes(likes: &[(LikeWrite, &ResultSlot<LikeOutcome>)], rows: &[Row]) -> Result<(), Error> {
    let (mut changed, mut existing) = (HashSet::new(), HashSet::new());
    for row in rows {
        let (user, post): (Option<i64>, i64) = (row.try_get(0)?, row.try_get(1)?);
        match user {
            Some(user) => drop(changed.insert((UserId(user), PostId(post)))),
            None => drop(existing.insert(PostId(post))),
        }
    }
    for (like, outcome) in likes {
        // Of two equal writes in a batch, the first one changes something.
        outcome.put(if changed.remove(&(like.user, like.post)) {
            LikeOutcome::Changed
        } else if existing.contains(&like.post) {
            LikeOutcome::Unchanged
        } else {
            LikeOutcome::NoSuchPost
        });
    }
    Ok(())
}

/// Likes as the columns of a statement.
struct Columns {
    /// Of every like, though some may change nothing: what was cached is read again.
    changes: Vec<u8>,
    users: Vec<i64>,
    posts: Vec<i64>,
    times: Vec<i64>,
}

impl Columns {
    fn of(likes: &[(LikeWrite, &ResultSlot<LikeOutcome>)]) -> Self {
        let likes = || likes.iter().map(|(like, _)| like);
        let keys = likes().flat_map(|like| [Key::likes_by(like.user), Key::likes_of(like.post)]);
        let changes: Vec<Change> = keys.map(Change::Key).collect();
        Self {
            changes: encode(&changes),
            users: likes().map(|like| like.user.0).collect(),
            posts: likes().map(|like| like.post.0).collect(),
            times: likes().filter_map(|like| Some(like.liked_at?.micros())).collect(),
        }
    }

    fn insert_params(&self) -> [&(dyn ToSql + Sync); 4] {
        [&self.changes, &self.users, &self.posts, &self.times]
    }

    fn delete_params(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.changes, &self.users, &self.posts]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::Timestamp;

    use super::*;
    use crate::lock_key::LockKey;
    use crate::postgres::connector::{Connector, ServerRole};
    use crate::postgres::{schema, test_database};

    /// As if BEGIN had failed, after which the server runs the rest of a pipeline statement by statement.
    #[tokio::test]
    async fn without_its_locks_a_batch_writes_nothing() {
        let url = test_database::create().await;
        let connector = Connector::new(&url, ServerRole::Primary, Duration::from_secs(10)).unwrap();
        schema::upgrade(&url, connector.clone()).await.unwrap();
        let mut tx = connector.connect().await.unwrap();
        let rows =
            "INSERT INTO users (username, username_key, password_hash, created_at) VALUES ('a', 'a', '', 0);
            INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
                VALUES ('00000000-0000-0000-0000-000000000001', 1, 1, '', 0, 0);
            INSERT INTO posts (user_id, photo_id, width, height, placeholder, like_count, created_at)
                SELECT 1, id, 1, 1, '', 0, 0 FROM photos";
        tx.client().batch_execute(rows).await.unwrap();
        let like = LikeWrite { user: UserId(1), post: PostId(1), liked_at: Some(Timestamp::from_micros(1)) };
        let (slot, _) = ResultSlot::pair();
        let columns = Columns::of(&[(like, &slot)]);

        let insert = tx.client().prepare(INSERT).await.unwrap();
        assert_eq!(tx.client().query(&insert, &columns.insert_params()).await.unwrap().len(), 0);
        let locks = AdvisoryLocks::of([LockKey::Post(PostId(1))].iter());
        let inserted = tx.run_pipelined(&locks, &[(INSERT, &columns.insert_params())]).await.unwrap();
        assert_eq!(inserted[0].len(), 1);
        let delete = tx.client().prepare(DELETE).await.unwrap();
        assert_eq!(tx.client().query(&delete, &columns.delete_params()).await.unwrap().len(), 0);
    }
}
