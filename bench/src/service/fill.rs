//! A database with any number of posts, written into the SQLite file directly.
//!
//! The only file here that knows the schema, and only the columns it fills: through the API, ten million
//! posts would take days. The service makes the database and its schema itself, and is stopped while this
//! writes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Transaction, params};

use super::pinhole::{Pinhole, token};
use super::{Bench, process};
use crate::error::{Error, create_folder, write};

/// Users that write the posts and like them; none of them has a session.
pub(super) const AUTHORS: u64 = 10_000;
/// The user that reads: has a session and likes every third of the newest posts.
pub(super) const READER: u64 = AUTHORS + 1;
/// Users with a session and no likes: one half likes many posts, the other half one post.
pub(super) const LIKERS: std::ops::Range<u64> = READER + 1..READER + 20_001;
pub(super) const HALF: u64 = (LIKERS.end - LIKERS.start) / 2;
const LIKES_PER_POST: u64 = 4;
/// Posts per transaction.
const BATCH: u64 = 200_000;

/// A folder as the service leaves it when it stops.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) folder: PathBuf,
    pub(super) posts: u64,
}

impl Filled {
    /// A database with so many posts, filled once and reused by later runs.
    pub(super) fn with(bench: &Bench, posts: u64) -> Result<Self, Error> {
        let filled = Self { folder: bench.home.join(format!("filled-{posts}")), posts };
        let complete = filled.folder.join("complete");
        if !complete.exists() {
            if filled.folder.exists() {
                std::fs::remove_dir_all(&filled.folder).map_err(Error::system(filled.folder.display()))?;
            }
            eprintln!("bench: filling a database with {posts} posts");
            create_folder(&filled.folder)?;
            drop(Pinhole::start(bench, &filled.folder, None, &[])?);
            fill(&filled.database(), posts).map_err(Error::measure)?;
            write(&complete, "")?;
        }
        Ok(filled)
    }

    /// A copy for a run that writes, so that the next run starts from the same data.
    pub(super) fn copy(&self, bench: &Bench, name: &str) -> Result<Self, Error> {
        let folder = bench.fresh(name)?;
        let mut copy = Command::new("cp");
        copy.args(["--reflink=auto", "-r", "-T"]).arg(&self.folder).arg(&folder);
        let status = copy.status().map_err(Error::system("cp"))?;
        if !status.success() {
            return Err(Error::measure("the database could not be copied"));
        }
        // Pending writeback would slow down the candidate measured first.
        process::sync_disk()?;
        Ok(Self { folder, posts: self.posts })
    }

    pub(super) fn database(&self) -> PathBuf {
        self.folder.join("pinhole.db")
    }
}

pub(super) fn spread(number: u64, posts: u64) -> (u64, u64) {
    // A prime that does not divide the number of posts, so a user visits all posts before one repeats.
    const STEP: u64 = 9973;
    let (user, turn) = (number % HALF, number / HALF);
    (LIKERS.start + user, 1 + (user * 2_654_435_761 + turn * STEP) % posts)
}

fn fill(path: &Path, posts: u64) -> rusqlite::Result<()> {
    let mut conn = Connection::open(path)?;
    // A crash here only costs filling again.
    conn.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;
         PRAGMA cache_size = -262144; PRAGMA temp_store = FILE;",
    )?;
    let indexes = take_indexes(&conn)?;
    let now = micros(SystemTime::now());
    users(&mut conn, now)?;
    let mut counts = vec![0_u32; posts as usize];
    likes(&mut conn, now, &mut counts)?;
    for from in (0..posts).step_by(BATCH as usize) {
        let tx = conn.transaction()?;
        insert_posts(&tx, from..posts.min(from + BATCH), now, &counts)?;
        tx.commit()?;
    }
    indexes.iter().try_for_each(|sql| conn.execute_batch(sql))?;
    conn.execute_batch("PRAGMA journal_mode = WAL;")
}

/// Building indexes at the end is faster than maintaining them.
fn take_indexes(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let find = "SELECT name, sql FROM sqlite_schema
        WHERE type = 'index' AND tbl_name IN ('posts', 'likes') AND sql IS NOT NULL";
    let mut found = conn.prepare(find)?;
    let rows = found.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    rows.iter().try_for_each(|(name, _)| conn.execute_batch(&format!("DROP INDEX {name}")))?;
    Ok(rows.into_iter().map(|(_, sql)| sql).collect())
}

/// In the format of every hash, which imports check; no password has it.
const PASSWORD_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$YSBzYWx0IG9mIDE2IGIuLg$bm8gcGFzc3dvcmQgaGFzIGdvdCB0aGlzIGhhc2ggMzI";

fn users(conn: &mut Connection, now: i64) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    {
        let mut user = tx.prepare(
            "INSERT INTO users (id, username, username_key, password_hash, created_at) VALUES (?1, ?2, ?2, ?3, ?4)",
        )?;
        let mut session = tx.prepare(
            "INSERT INTO sessions (token_hash, user_id, created_at, last_used_at) VALUES (?1, ?2, ?3, ?3)",
        )?;
        for id in 1..LIKERS.end {
            user.execute(params![id as i64, format!("user-{id:06}"), PASSWORD_HASH, now])?;
            if id > AUTHORS {
                session.execute(params![token(id).hash().0, id as i64, now])?;
            }
        }
    }
    tx.commit()
}

/// Every user likes the same number of posts, evenly spread, inserted in the order of the table. The reader's
/// pages contain liked and other posts.
fn likes(conn: &mut Connection, now: i64, counts: &mut [u32]) -> rusqlite::Result<()> {
    let posts = counts.len() as u64;
    let each = (posts * LIKES_PER_POST / AUTHORS).clamp(1, posts);
    let stride = posts / each;
    let tx = conn.transaction()?;
    {
        let mut like = tx.prepare("INSERT INTO likes (user_id, post_id, created_at) VALUES (?1, ?2, ?3)")?;
        let mut give = |user: u64, place: u64| {
            counts[place as usize] += 1;
            like.execute(params![user as i64, place as i64 + 1, now])
        };
        for user in 1..=AUTHORS {
            let first = user.wrapping_mul(2_654_435_761) % stride;
            for turn in 0..each {
                give(user, first + turn * stride)?;
            }
        }
        for place in (posts.saturating_sub(30_000)..posts).step_by(3) {
            give(READER, place)?;
        }
    }
    tx.commit()
}

fn insert_posts(
    tx: &Transaction,
    places: std::ops::Range<u64>,
    now: i64,
    counts: &[u32],
) -> rusqlite::Result<()> {
    let mut photo = tx.prepare(
        "INSERT INTO photos (id, width, height, placeholder, bytes, created_at) VALUES (?1, 4032, 3024, ?2, 3000000, ?3)",
    )?;
    let mut post = tx.prepare(
        "INSERT INTO posts (id, user_id, photo_id, width, height, placeholder, message, like_count, created_at)
         VALUES (?1, ?2, ?3, 4032, 3024, ?4, ?5, ?6, ?7)",
    )?;
    for place in places {
        // A second apart, the newest one a second old.
        let at = now - (counts.len() as i64 - place as i64) * 1_000_000;
        let id = photo_id(at, place);
        let mut placeholder = [0x5a; 25];
        placeholder[..8].copy_from_slice(&place.to_be_bytes());
        photo.execute(params![id, placeholder, at])?;
        let author = place.wrapping_mul(2_654_435_761) % AUTHORS + 1;
        let message = format!("Post {place}: morning light over the harbour, and the town still asleep");
        let (post_id, likes) = (place as i64 + 1, counts[place as usize]);
        post.execute(params![post_id, author as i64, id, placeholder, message, likes, at])?;
    }
    Ok(())
}

/// A UUID of version 7, as the service makes them: by time.
fn photo_id(at: i64, place: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..6].copy_from_slice(&(at / 1000).to_be_bytes()[2..]);
    id[6] = 0x70;
    id[8..].copy_from_slice(&place.to_be_bytes());
    id[8] = 0x80;
    id
}

fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::SMALL;
    use super::*;

    #[test]
    fn no_user_likes_a_post_twice() {
        let pairs: HashSet<(u64, u64)> = (0..200_000).map(|number| spread(number, SMALL)).collect();
        assert_eq!(pairs.len(), 200_000);
        assert!(pairs.iter().all(|(_, post)| (1..=SMALL).contains(post)));
    }
}
