//! Writes the likes of a batch together: one statement for all new likes, one for all that are removed, one
//! for the counts of their posts.

use std::collections::{BTreeMap, HashSet};

use model::{PostId, UserId};
use tokio_postgres::Row;

use super::tx::PostgresTx;
use crate::changes::Change;
use crate::error::Error;
use crate::like_write::{LikeOutcome, LikeWrite};
use crate::work::ResultSlot;

// All take the rows in the order of the arrays, which is that of the lock keys, so that batches of two nodes
// do not deadlock.
const INSERT: &str = "INSERT INTO likes (user_id, post_id, created_at)
    SELECT l.user_id, l.post_id, l.created_at
    FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[])) AS l (user_id, post_id, created_at)
    JOIN posts p ON p.id = l.post_id
    ON CONFLICT (user_id, post_id) DO NOTHING
    RETURNING user_id, post_id";
const DELETE: &str = "DELETE FROM likes l
    USING unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS d (user_id, post_id)
    WHERE l.user_id = d.user_id AND l.post_id = d.post_id
    RETURNING l.user_id, l.post_id";
const ADD_TO_COUNTS: &str = "UPDATE posts SET like_count = like_count + d.delta
    FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS d (id, delta) WHERE posts.id = d.id";
const EXISTING_POSTS: &str = "SELECT id FROM posts WHERE id = ANY(CAST($1 AS BIGINT[]))";

/// Writes likes, and puts the outcome of each into its slot. The counts are updated last, so that other nodes
/// wait for these rows no longer than the commit takes.
pub(super) async fn write(
    tx: &mut PostgresTx,
    likes: &[(LikeWrite, &ResultSlot<LikeOutcome>)],
) -> Result<(), Error> {
    let writes = || likes.iter().map(|(like, _)| *like);
    let mut changed = insert(tx, writes()).await?;
    changed.extend(delete(tx, writes()).await?);
    let mut unchanged = Vec::new();
    let mut deltas = BTreeMap::<i64, i64>::new();
    for (like, outcome) in likes {
        // Of two equal writes in a batch, the first one changes something.
        if !changed.remove(&Key::of(*like)) {
            unchanged.push((like.post, outcome));
            continue;
        }
        *deltas.entry(like.post.0).or_default() += if like.liked_at.is_some() { 1 } else { -1 };
        tx.record_change(Change::Like(like.user, like.post));
        outcome.put(LikeOutcome::Changed);
    }
    if !unchanged.is_empty() {
        let posts: Vec<i64> = unchanged.iter().map(|(post, _)| post.0).collect();
        let rows = tx.query(EXISTING_POSTS, &[&posts]).await?;
        let existing: HashSet<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        for (post, outcome) in unchanged {
            let exists = existing.contains(&post.0);
            outcome.put(if exists { LikeOutcome::Unchanged } else { LikeOutcome::NoSuchPost });
        }
    }
    deltas.retain(|_, delta| *delta != 0);
    if !deltas.is_empty() {
        let (posts, deltas): (Vec<i64>, Vec<i64>) = deltas.into_iter().unzip();
        tx.execute_last(ADD_TO_COUNTS, &[&posts, &deltas]).await?;
    }
    Ok(())
}

/// A like that is set or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    user: UserId,
    post: PostId,
    is_liked: bool,
}

impl Key {
    fn of(like: LikeWrite) -> Self {
        Self { user: like.user, post: like.post, is_liked: like.liked_at.is_some() }
    }
}

async fn insert(tx: &mut PostgresTx, likes: impl Iterator<Item = LikeWrite>) -> Result<HashSet<Key>, Error> {
    let (mut users, mut posts, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for like in likes {
        if let Some(at) = like.liked_at {
            users.push(like.user.0);
            posts.push(like.post.0);
            times.push(at.micros());
        }
    }
    if users.is_empty() {
        return Ok(HashSet::new());
    }
    changed(&tx.query(INSERT, &[&users, &posts, &times]).await?, true)
}

async fn delete(tx: &mut PostgresTx, likes: impl Iterator<Item = LikeWrite>) -> Result<HashSet<Key>, Error> {
    let removed = likes.filter(|like| like.liked_at.is_none());
    let (users, posts): (Vec<i64>, Vec<i64>) = removed.map(|like| (like.user.0, like.post.0)).unzip();
    if users.is_empty() {
        return Ok(HashSet::new());
    }
    changed(&tx.query(DELETE, &[&users, &posts]).await?, false)
}

fn changed(rows: &[Row], is_liked: bool) -> Result<HashSet<Key>, Error> {
    let key = |row: &Row| Ok(Key { user: UserId(row.try_get(0)?), post: PostId(row.try_get(1)?), is_liked });
    rows.iter().map(key).collect()
}
