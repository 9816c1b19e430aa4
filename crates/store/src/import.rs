//! Bringing in everything that another database knew.
//!
//! Photos are brought in like uploads are: claimed, then their bytes are written, and the transaction that brings in
//! the facts redeems the claims. So an attempt that dies half-way leaves claims, which the service collects at its next
//! start together with their bytes, or which the next attempt takes over.

use futures_util::FutureExt;
use model::{PhotoId, Timestamp};

use crate::error::Error;
use crate::export::SEQUENCES;
use crate::facts::{Fact, SequenceFact, Table};
use crate::lock_key::LockKey;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::upkeep::{self, Census};
use crate::value::Value;

statements! {
    CLAIM_ANEW = "INSERT INTO uploads (photo_id, started_at) VALUES ($1, $2)
        ON CONFLICT (photo_id) DO UPDATE SET started_at = excluded.started_at";
    // Noted by whoever gave up an earlier attempt: the bytes are wanted again.
    STRIKE = "DELETE FROM removals WHERE photo_id = $1";
    REDEEM = "DELETE FROM uploads WHERE photo_id = $1";
    PHOTO = "INSERT INTO photos
        (id, width, height, placeholder, bytes, original, orientation, alt, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    USER = "INSERT INTO users (id, username, username_key, password_hash, photo_id, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    SESSION = "INSERT INTO sessions (token_hash, user_id, created_at, last_used_at) VALUES ($1, $2, $3, $4)";
    POST = "INSERT INTO posts
        (id, user_id, photo_id, width, height, placeholder, alt, message, like_count, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    LIKE = "INSERT INTO likes (user_id, post_id, created_at) VALUES ($1, $2, $3)";
    KEY = "INSERT INTO idempotency_keys (user_id, key, post_id, created_at) VALUES ($1, $2, $3, $4)";
}

/// Facts that are brought in with one call.
const BATCH: usize = 500;

/// How the bytes of photos came to be where the facts will look for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// They were brought in, each under a claim.
    Claimed,
    /// They have been there all along: only the facts move.
    Unmoved,
}

impl Store {
    /// Announces that bytes of these photos are about to be brought in. Those of an earlier attempt are claimed anew.
    pub async fn claim_photos(&self, ids: Vec<PhotoId>, now: Timestamp) -> Result<(), Error> {
        self.write(LockKey::Maintenance, move |tx| {
            async move {
                let struck: Vec<Vec<Value<'_>>> = ids.iter().map(|id| vec![id.into()]).collect();
                tx.execute_each(STRIKE, &struck).await?;
                let claimed: Vec<Vec<Value<'_>>> = ids.iter().map(|id| vec![id.into(), now.into()]).collect();
                tx.execute_each(CLAIM_ANEW, &claimed).await.map(drop)
            }
            .boxed()
        })
        .await
    }

    /// Brings in facts, in the order of [`Table::ALL`], into a database that has none; all of them or, when one is
    /// an error, none. `facts` may make us wait.
    pub async fn import(
        &self,
        photos: Arrival,
        facts: impl Iterator<Item = Result<Fact, Error>> + Send + 'static,
    ) -> Result<Census, Error> {
        self.write_once(move |tx| async move { import(tx, photos, facts).await }.boxed()).await
    }
}

async fn import(
    tx: &mut Tx<'_>,
    photos: Arrival,
    facts: impl Iterator<Item = Result<Fact, Error>> + Send,
) -> Result<Census, Error> {
    if !upkeep::census(tx).await?.is_empty() {
        return Err(Error::Refused("the database is not empty".into()));
    }
    let mut batch: Vec<Fact> = Vec::with_capacity(BATCH);
    for fact in facts {
        let fact = fact?;
        if batch.len() == BATCH || batch.first().is_some_and(|first| first.table() != fact.table()) {
            bring_in(tx, photos, &batch).await?;
            batch.clear();
        }
        batch.push(fact);
    }
    bring_in(tx, photos, &batch).await?;
    upkeep::census(tx).await
}

/// Facts of one table.
async fn bring_in(tx: &mut Tx<'_>, photos: Arrival, batch: &[Fact]) -> Result<(), Error> {
    let Some(table) = batch.first().map(Fact::table) else { return Ok(()) };
    let insert = match table {
        Table::Photos => {
            if photos == Arrival::Claimed {
                redeem(tx, batch).await?;
            }
            PHOTO
        }
        Table::Users => USER,
        Table::Sessions => SESSION,
        Table::Posts => POST,
        Table::Likes => LIKE,
        Table::IdempotencyKeys => KEY,
        Table::Sequences => return move_on(tx, batch).await,
    };
    let rows = batch.iter().map(values).collect::<Result<Vec<_>, Error>>()?;
    tx.execute_each(insert, &rows).await.map(drop)
}

/// A claim that is not there any more was given up, and its bytes with it.
async fn redeem(tx: &mut Tx<'_>, batch: &[Fact]) -> Result<(), Error> {
    for fact in batch {
        let Fact::Photo(photo) = fact else { continue };
        if tx.execute(REDEEM, &[(&photo.id).into()]).await? == 0 {
            return Err(Error::Refused(format!("the bytes of photo {} are not there", photo.id)));
        }
    }
    Ok(())
}

async fn move_on(tx: &mut Tx<'_>, batch: &[Fact]) -> Result<(), Error> {
    for fact in batch {
        let Fact::Sequence(SequenceFact { table, last }) = fact else { continue };
        let known = SEQUENCES.into_iter().find(|known| known == table);
        let table =
            known.ok_or_else(|| Error::Refused(format!("{table} is not a table that hands out ids")))?;
        tx.set_sequence(table, *last).await?;
    }
    Ok(())
}

/// In the order of the statement for its table.
fn values(fact: &Fact) -> Result<Vec<Value<'_>>, Error> {
    Ok(match fact {
        Fact::Photo(photo) => vec![
            (&photo.id).into(),
            photo.width.into(),
            photo.height.into(),
            photo.placeholder.as_slice().into(),
            i64::try_from(photo.bytes)
                .map_err(|_| Error::Refused(format!("photo {} has {} bytes", photo.id, photo.bytes)))?
                .into(),
            photo.original.as_deref().into(),
            photo.orientation.into(),
            photo.alt.as_deref().into(),
            photo.created_at.into(),
        ],
        Fact::User(user) => vec![
            user.id.into(),
            user.username.as_str().into(),
            user.username_key.as_str().into(),
            user.password_hash.as_str().into(),
            user.photo_id.as_ref().into(),
            user.created_at.into(),
        ],
        Fact::Session(session) => vec![
            session.token_hash.as_slice().into(),
            session.user_id.into(),
            session.created_at.into(),
            session.last_used_at.into(),
        ],
        Fact::Post(post) => vec![
            post.id.into(),
            post.user_id.into(),
            (&post.photo_id).into(),
            post.width.into(),
            post.height.into(),
            post.placeholder.as_slice().into(),
            post.alt.as_deref().into(),
            post.message.as_deref().into(),
            post.like_count.into(),
            post.created_at.into(),
        ],
        Fact::Like(like) => vec![like.user_id.into(), like.post_id.into(), like.created_at.into()],
        Fact::Key(key) => {
            vec![key.user_id.into(), key.key.as_str().into(), key.post_id.into(), key.created_at.into()]
        }
        Fact::Sequence(sequence) => vec![sequence.table.as_str().into(), sequence.last.into()],
    })
}
