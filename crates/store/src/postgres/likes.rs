//! Writes the likes of a batch together, as one transaction in one round trip: a statement for all new likes
//! and one for all that are removed, each with the counts of their posts and the changes for other nodes.
//!
//! `likes` has no foreign keys, whose checks would lock a row of `posts` and one of `users` for every like. A
//! batch has the exclusive lock of every post that it likes, and so has a delete of a post.

use std::collections::HashSet;

use model::{PostId, UserId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::tx::{CommitError, PostgresTx};
use crate::changes::{Change, encode};
use crate::error::Error;
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::work::ResultSlot;

const INSERT: &str = "WITH published AS (
        INSERT INTO changes (encoded) VALUES ($1)
    ), changed AS (
        INSERT INTO likes (user_id, post_id, created_at)
        SELECT l.user_id, l.post_id, l.created_at
        FROM unnest(CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[])) AS l (user_id, post_id, created_at)
        JOIN posts p ON p.id = l.post_id
        WHERE current_setting('pinhole.locked', true) = 'yes'
        ON CONFLICT (user_id, post_id) DO NOTHING
        RETURNING user_id, post_id
    ), counted AS (
        UPDATE posts SET like_count = like_count + c.likes
        FROM (SELECT post_id, count(*) AS likes FROM changed GROUP BY post_id) c WHERE posts.id = c.post_id
    )
    SELECT user_id, post_id FROM changed";
const DELETE: &str = "WITH published AS (
        INSERT INTO changes (encoded) VALUES ($1)
    ), changed AS (
        DELETE FROM likes l
        USING unnest(CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[])) AS d (user_id, post_id)
        WHERE l.user_id = d.user_id AND l.post_id = d.post_id AND current_setting('pinhole.locked', true) = 'yes'
        RETURNING l.user_id, l.post_id
    ), counted AS (
        UPDATE posts SET like_count = like_count - c.likes
        FROM (SELECT post_id, count(*) AS likes FROM changed GROUP BY post_id) c WHERE posts.id = c.post_id
    )
    SELECT user_id, post_id FROM changed";
const EXISTING_POSTS: &str = "SELECT id FROM posts WHERE id = ANY(CAST($1 AS BIGINT[]))";

/// Writes and commits likes, and puts the outcome of each into its slot. `posts` are those to lock.
pub(super) async fn write(
    tx: &mut PostgresTx,
    posts: &[i64],
    likes: &[(LikeWrite, &ResultSlot<LikeOutcome>)],
) -> Result<(), CommitError> {
    let (set, removed): (Vec<LikeWrite>, Vec<LikeWrite>) =
        likes.iter().map(|(like, _)| *like).partition(|like| like.liked_at.is_some());
    let (set, removed) = (Columns::of(&set), Columns::of(&removed));
    let (insert, delete) = (set.insert_params(), removed.delete_params());
    let mut statements: Vec<(&'static str, &[&(dyn ToSql + Sync)])> = Vec::new();
    if !set.users.is_empty() {
        statements.push((INSERT, &insert));
    }
    if !removed.users.is_empty() {
        statements.push((DELETE, &delete));
    }
    let rows = tx.run_pipelined(posts, &statements).await?;
    // Committed: what fails from here on is not rolled back.
    put_outcomes(tx, likes, &rows).await.map_err(CommitError::Unknown)
}

/// Puts the outcome of each like into its slot. A post that does not exist now did not exist or was deleted
/// since; one that exists did so all the time.
async fn put_outcomes(
    tx: &mut PostgresTx,
    likes: &[(LikeWrite, &ResultSlot<LikeOutcome>)],
    rows: &[Vec<Row>],
) -> Result<(), Error> {
    let key = |row: &Row| Ok((UserId(row.try_get(0)?), PostId(row.try_get(1)?)));
    let mut changed = rows.iter().map(|rows| rows.iter().map(key).collect::<Result<HashSet<_>, Error>>());
    let has_set = likes.iter().any(|(like, _)| like.liked_at.is_some());
    let mut inserted = if has_set { changed.next().transpose()?.unwrap_or_default() } else { HashSet::new() };
    let mut deleted = changed.next().transpose()?.unwrap_or_default();
    let mut unchanged = Vec::new();
    for (like, outcome) in likes {
        let changed = if like.liked_at.is_some() { &mut inserted } else { &mut deleted };
        // Of two equal writes in a batch, the first one changes something.
        if changed.remove(&(like.user, like.post)) {
            outcome.put(LikeOutcome::Changed);
        } else {
            unchanged.push((like.post, outcome));
        }
    }
    if unchanged.is_empty() {
        return Ok(());
    }
    let posts: Vec<i64> = unchanged.iter().map(|(post, _)| post.0).collect();
    let rows = tx.query((EXISTING_POSTS, &[&posts])).await?;
    let existing: HashSet<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    for (post, outcome) in unchanged {
        let exists = existing.contains(&post.0);
        outcome.put(if exists { LikeOutcome::Unchanged } else { LikeOutcome::NoSuchPost });
    }
    Ok(())
}

/// Likes as the columns of a statement.
struct Columns {
    /// Of every like, though some may change nothing: an invalidated cache is filled again.
    changes: Vec<u8>,
    users: Vec<i64>,
    posts: Vec<i64>,
    times: Vec<i64>,
}

impl Columns {
    fn of(likes: &[LikeWrite]) -> Self {
        let changes: Vec<Change> = likes.iter().map(|like| Change::Like(like.user, like.post)).collect();
        Self {
            changes: encode(&changes),
            users: likes.iter().map(|like| like.user.0).collect(),
            posts: likes.iter().map(|like| like.post.0).collect(),
            times: likes.iter().filter_map(|like| Some(like.liked_at?.micros())).collect(),
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
        let columns = Columns::of(&[like]);

        assert_eq!(tx.query((INSERT, &columns.insert_params())).await.unwrap().len(), 0);
        let inserted = tx.run_pipelined(&[1], &[(INSERT, &columns.insert_params())]).await.unwrap();
        assert_eq!(inserted[0].len(), 1);
        assert_eq!(tx.query((DELETE, &columns.delete_params())).await.unwrap().len(), 0);
    }
}
