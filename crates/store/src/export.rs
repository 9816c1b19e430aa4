//! Giving away everything the database knows, as it is at one moment.

use std::ops::ControlFlow;

use futures_util::FutureExt;

use crate::error::Error;
use crate::facts::{
    Fact, KeyFact, LikeFact, PhotoFact, PostFact, SequenceFact, SessionFact, Table, UserFact,
};
use crate::row::Row;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::value::Value;

statements! {
    PHOTOS = "SELECT id, width, height, placeholder, bytes, original, orientation, alt, created_at
        FROM photos WHERE id > $1 ORDER BY id LIMIT 500";
    USERS = "SELECT id, username, username_key, password_hash, photo_id, created_at
        FROM users WHERE id > $1 ORDER BY id LIMIT 500";
    SESSIONS = "SELECT token_hash, user_id, created_at, last_used_at
        FROM sessions WHERE token_hash > $1 ORDER BY token_hash LIMIT 500";
    POSTS = "SELECT id, user_id, photo_id, width, height, placeholder, alt, message, like_count, created_at
        FROM posts WHERE id > $1 ORDER BY id LIMIT 500";
    LIKES = "SELECT user_id, post_id, created_at
        FROM likes WHERE (user_id, post_id) > ($1, $2) ORDER BY user_id, post_id LIMIT 500";
    KEYS = "SELECT user_id, key, post_id, created_at
        FROM idempotency_keys WHERE (user_id, key) > ($1, $2) ORDER BY user_id, key LIMIT 500";
}

/// The limit above.
const PAGE: usize = 500;

/// Tables that hand out ids of their own.
pub(crate) const SEQUENCES: [&str; 2] = ["posts", "users"];

/// Takes facts as they come.
pub trait Sink: Send + 'static {
    /// `Break` when it wants no more, for a reason it keeps to itself.
    fn take(&mut self, fact: Fact) -> ControlFlow<()>;
}

impl Store {
    /// Gives every fact to `sink` and then hands it back: table by table in the order of [`Table::ALL`], and all of
    /// them as they were at one moment, whatever is written meanwhile.
    pub async fn export<S: Sink>(&self, mut sink: S) -> Result<S, Error> {
        self.snapshot(move |tx| {
            async move {
                for table in Table::ALL {
                    if give(tx, table, &mut sink).await?.is_break() {
                        break;
                    }
                }
                Ok(sink)
            }
            .boxed()
        })
        .await
    }
}

async fn give<S: Sink>(tx: &mut Tx<'_>, table: Table, sink: &mut S) -> Result<ControlFlow<()>, Error> {
    match table {
        // No photo has the id that is all zeros.
        Table::Photos => pages(tx, PHOTOS, vec![0; 16], read_photo, sink).await,
        Table::Users => pages(tx, USERS, 0, read_user, sink).await,
        Table::Sessions => pages(tx, SESSIONS, Vec::new(), read_session, sink).await,
        Table::Posts => pages(tx, POSTS, 0, read_post, sink).await,
        Table::Likes => pages(tx, LIKES, (0, 0), read_like, sink).await,
        Table::IdempotencyKeys => pages(tx, KEYS, (0, String::new()), read_key, sink).await,
        Table::Sequences => {
            for table in SEQUENCES {
                let last = tx.last_id(table).await?;
                let fact = Fact::Sequence(SequenceFact { table: table.to_owned(), last });
                if sink.take(fact).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        }
    }
}

/// Every row behind the key `after`, read in pages, so that no table has to fit into memory.
async fn pages<K: Key, S: Sink>(
    tx: &mut Tx<'_>,
    sql: &'static str,
    mut after: K,
    read: fn(&Row<'_, '_>) -> Result<(K, Fact), Error>,
    sink: &mut S,
) -> Result<ControlFlow<()>, Error> {
    loop {
        let page = tx.all(sql, &after.values(), read).await?;
        let is_last = page.len() < PAGE;
        for (key, fact) in page {
            after = key;
            if sink.take(fact).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if is_last {
            return Ok(ControlFlow::Continue(()));
        }
    }
}

/// Where a page begins: behind the row with this key.
trait Key: Send + Sync {
    fn values(&self) -> Vec<Value<'_>>;
}

impl Key for i64 {
    fn values(&self) -> Vec<Value<'_>> {
        vec![(*self).into()]
    }
}

impl Key for Vec<u8> {
    fn values(&self) -> Vec<Value<'_>> {
        vec![self.as_slice().into()]
    }
}

impl Key for (i64, i64) {
    fn values(&self) -> Vec<Value<'_>> {
        vec![self.0.into(), self.1.into()]
    }
}

impl Key for (i64, String) {
    fn values(&self) -> Vec<Value<'_>> {
        vec![self.0.into(), self.1.as_str().into()]
    }
}

fn read_photo(row: &Row<'_, '_>) -> Result<(Vec<u8>, Fact), Error> {
    let fact = PhotoFact {
        id: row.photo_id(0)?,
        width: row.unsigned(1)?,
        height: row.unsigned(2)?,
        placeholder: row.bytes(3)?,
        bytes: row.unsigned(4)?,
        original: row.optional_text(5)?,
        orientation: if row.is_null(6)? { None } else { Some(row.int(6)?) },
        alt: row.optional_text(7)?,
        created_at: row.int(8)?,
    };
    Ok((fact.id.as_bytes().to_vec(), Fact::Photo(fact)))
}

fn read_user(row: &Row<'_, '_>) -> Result<(i64, Fact), Error> {
    let fact = UserFact {
        id: row.int(0)?,
        username: row.text(1)?,
        username_key: row.text(2)?,
        password_hash: row.text(3)?,
        photo_id: if row.is_null(4)? { None } else { Some(row.photo_id(4)?) },
        created_at: row.int(5)?,
    };
    Ok((fact.id, Fact::User(fact)))
}

fn read_session(row: &Row<'_, '_>) -> Result<(Vec<u8>, Fact), Error> {
    let fact = SessionFact {
        token_hash: row.bytes(0)?,
        user_id: row.int(1)?,
        created_at: row.int(2)?,
        last_used_at: row.int(3)?,
    };
    Ok((fact.token_hash.clone(), Fact::Session(fact)))
}

fn read_post(row: &Row<'_, '_>) -> Result<(i64, Fact), Error> {
    let fact = PostFact {
        id: row.int(0)?,
        user_id: row.int(1)?,
        photo_id: row.photo_id(2)?,
        width: row.unsigned(3)?,
        height: row.unsigned(4)?,
        placeholder: row.bytes(5)?,
        alt: row.optional_text(6)?,
        message: row.optional_text(7)?,
        like_count: row.int(8)?,
        created_at: row.int(9)?,
    };
    Ok((fact.id, Fact::Post(fact)))
}

fn read_like(row: &Row<'_, '_>) -> Result<((i64, i64), Fact), Error> {
    let fact = LikeFact { user_id: row.int(0)?, post_id: row.int(1)?, created_at: row.int(2)? };
    Ok(((fact.user_id, fact.post_id), Fact::Like(fact)))
}

fn read_key(row: &Row<'_, '_>) -> Result<((i64, String), Fact), Error> {
    let fact =
        KeyFact { user_id: row.int(0)?, key: row.text(1)?, post_id: row.int(2)?, created_at: row.int(3)? };
    Ok(((fact.user_id, fact.key.clone()), Fact::Key(fact)))
}
