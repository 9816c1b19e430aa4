//! Posts: made, read, edited, deleted.

use futures_util::FutureExt;
use model::{Alt, Message, PhotoId, Post, PostEdit, PostId, Timestamp, UserId};

use crate::changes::Change;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::photos::{self, NewPhoto, read_photo};
use crate::row::Row;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;

/// Selects what makes a [`Post`], and whatever else is asked for.
macro_rules! select_posts {
    ($($more:expr)?) => {
        concat!(
            "SELECT p.id, p.message, p.like_count, p.created_at, p.photo_id, p.width, p.height, p.placeholder, p.alt, p.user_id",
            $(", ", $more,)?
            " FROM posts p "
        )
    };
}
pub(crate) use select_posts;

/// Whether the user `$1` (0 for nobody) likes it.
macro_rules! liked_by_first {
    () => {
        "EXISTS (SELECT 1 FROM likes l WHERE l.user_id = $1 AND l.post_id = p.id)"
    };
}
pub(crate) use liked_by_first;

statements! {
    FIND = concat!(select_posts!(liked_by_first!()), "WHERE p.id = $2");
    AUTHOR = "SELECT user_id FROM posts WHERE id = $1";
    INSERT = "INSERT INTO posts (user_id, photo_id, width, height, placeholder, alt, message, like_count, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8) RETURNING id";
    EDIT = "UPDATE posts SET message = $1 WHERE id = $2";
    DESCRIBE = "UPDATE posts SET alt = $1 WHERE id = $2";
    DELETE = "DELETE FROM posts WHERE id = $1 RETURNING photo_id";
    FIND_KEY = "SELECT post_id FROM idempotency_keys WHERE user_id = $1 AND key = $2 AND created_at > $3";
    // Whoever comes second with a key waits here for the first, and then finds it taken; unless it is an old one.
    TAKE_KEY = "INSERT INTO idempotency_keys (user_id, key, post_id, created_at) VALUES ($1, $2, 0, $3)
        ON CONFLICT (user_id, key) DO UPDATE SET post_id = 0, created_at = excluded.created_at
        WHERE idempotency_keys.created_at <= $4";
    SIGN_KEY = "UPDATE idempotency_keys SET post_id = $1 WHERE user_id = $2 AND key = $3";
    SWEEP_KEYS = "DELETE FROM idempotency_keys WHERE created_at < $1";
}

#[derive(Debug, Clone)]
pub struct NewPost {
    pub author: UserId,
    pub photo: NewPhoto,
    pub message: Option<Message>,
    /// The client's name for this upload.
    pub key: Option<String>,
    /// Keys older than this are forgotten.
    pub keys_since: Timestamp,
    pub created_at: Timestamp,
}

/// How making a post went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    New(Post<UserId>),
    /// The same upload had come before; this one's bytes are noted for removal.
    Repeated(Repeat),
    /// The claim on the photo had been given up: the upload took too long.
    ClaimLost,
}

/// What became of the post an idempotency key had made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    Here(Post<UserId>),
    Deleted,
}

/// The answer to a request that only some may make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access<T> {
    Granted(T),
    Forbidden,
    Missing,
}

impl Store {
    pub async fn create_post(&self, new: NewPost) -> Result<Created, Error> {
        let lock_key =
            new.key.clone().map_or(LockKey::Unshared, |key| LockKey::IdempotencyKey(new.author, key));
        self.write(lock_key, move |tx| async move { create(tx, new).await }.boxed()).await
    }

    /// What an upload under this key made, if there was one since `since`.
    pub async fn repeat(
        &self,
        author: UserId,
        key: String,
        since: Timestamp,
    ) -> Result<Option<Repeat>, Error> {
        self.read(move |tx| async move { find_repeat(tx, author, &key, since).await }.boxed()).await
    }

    pub async fn post(&self, id: PostId, viewer: Option<UserId>) -> Result<Option<Post<UserId>>, Error> {
        self.read(move |tx| async move { find(tx, id, viewer).await }.boxed()).await
    }

    pub async fn post_author(&self, id: PostId) -> Result<Option<UserId>, Error> {
        self.read(move |tx| async move { author(tx, id).await }.boxed()).await
    }

    /// Changes a post that `editor` wrote.
    pub async fn edit_post(
        &self,
        id: PostId,
        editor: UserId,
        edit: PostEdit,
    ) -> Result<Access<Post<UserId>>, Error> {
        self.write(LockKey::Post(id), move |tx| {
            async move {
                match author(tx, id).await? {
                    None => return Ok(Access::Missing),
                    Some(author) if author != editor => return Ok(Access::Forbidden),
                    Some(_) => {}
                }
                tx.record_change(Change::Post(id));
                if let Some(message) = &edit.message {
                    tx.execute(EDIT, &[message.as_ref().map(Message::as_str).into(), id.into()]).await?;
                }
                if let Some(alt) = &edit.alt {
                    tx.execute(DESCRIBE, &[alt.as_ref().map(Alt::as_str).into(), id.into()]).await?;
                }
                Ok(find(tx, id, Some(editor)).await?.map_or(Access::Missing, Access::Granted))
            }
            .boxed()
        })
        .await
    }

    /// Deletes a post with its likes, and returns the photo whose bytes must follow.
    /// `only_by` names who must have written it; `None` lets anyone, as an administrator may.
    pub async fn delete_post(
        &self,
        id: PostId,
        only_by: Option<UserId>,
        now: Timestamp,
    ) -> Result<Access<PhotoId>, Error> {
        self.write(LockKey::Post(id), move |tx| {
            async move {
                match (author(tx, id).await?, only_by) {
                    (None, _) => return Ok(Access::Missing),
                    (Some(author), Some(user)) if author != user => return Ok(Access::Forbidden),
                    _ => {}
                }
                // Its likes go with it: the schema cascades.
                let Some(photo) = tx.first(DELETE, &[id.into()], |row| row.photo_id(0)).await? else {
                    return Ok(Access::Missing);
                };
                photos::delete(tx, photo, now).await?;
                tx.record_change(Change::Post(id));
                Ok(Access::Granted(photo))
            }
            .boxed()
        })
        .await
    }
}

async fn create(tx: &mut Tx<'_>, new: NewPost) -> Result<Created, Error> {
    let now = new.created_at;
    if let Some(key) = &new.key
        && let Some(repeat) = find_repeat(tx, new.author, key, new.keys_since).await?
    {
        photos::abandon(tx, new.photo.photo.id, now).await?;
        return Ok(Created::Repeated(repeat));
    }
    // The words for the photo are the post's, and lie there only.
    if !photos::redeem(tx, &new.photo, None, now).await? {
        return Ok(Created::ClaimLost);
    }
    let photo = &new.photo.photo;
    if let Some(key) = &new.key {
        let values = [new.author.into(), key.as_str().into(), now.into(), new.keys_since.into()];
        if tx.execute(TAKE_KEY, &values).await? == 0 {
            // The same upload came to another node, which was quicker.
            photos::delete(tx, photo.id, now).await?;
            let repeat = find_repeat(tx, new.author, key, new.keys_since).await?;
            return repeat
                .map(Created::Repeated)
                .ok_or_else(|| Error::Conflict("a key was taken and is gone again".into()));
        }
    }
    let values = [
        new.author.into(),
        (&photo.id).into(),
        photo.width.into(),
        photo.height.into(),
        photo.placeholder.as_slice().into(),
        photo.alt.as_ref().map(Alt::as_str).into(),
        new.message.as_ref().map(Message::as_str).into(),
        now.into(),
    ];
    let id = tx.first(INSERT, &values, |row| row.post_id(0)).await?;
    let id = id.ok_or_else(|| Error::Corrupt("an insert returned no id".into()))?;
    tx.record_change(Change::Post(id));
    if let Some(key) = &new.key {
        tx.execute(SIGN_KEY, &[id.into(), new.author.into(), key.as_str().into()]).await?;
    }
    let post = find(tx, id, Some(new.author)).await?;
    post.map(Created::New).ok_or_else(|| Error::Corrupt(format!("post {id} is not there after its insert")))
}

async fn find(tx: &mut Tx<'_>, id: PostId, viewer: Option<UserId>) -> Result<Option<Post<UserId>>, Error> {
    tx.first(FIND, &[viewer.unwrap_or(NOBODY).into(), id.into()], read_post_as_seen).await
}

async fn author(tx: &mut Tx<'_>, id: PostId) -> Result<Option<UserId>, Error> {
    tx.first(AUTHOR, &[id.into()], |row| row.user_id(0)).await
}

async fn find_repeat(
    tx: &mut Tx<'_>,
    author: UserId,
    key: &str,
    since: Timestamp,
) -> Result<Option<Repeat>, Error> {
    let values = [author.into(), key.into(), since.into()];
    let Some(id) = tx.first(FIND_KEY, &values, |row| row.post_id(0)).await? else {
        return Ok(None);
    };
    let post = find(tx, id, Some(author)).await?;
    Ok(Some(post.map_or(Repeat::Deleted, Repeat::Here)))
}

/// Forgets idempotency keys made before `before`.
pub(crate) async fn sweep_keys(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, Error> {
    tx.execute(SWEEP_KEYS, &[before.into()]).await
}

/// The viewer who is no one and has liked nothing; real ids begin at 1.
pub(crate) const NOBODY: UserId = UserId(0);

/// Reads what [`select_posts!`] selects; nobody likes it yet.
pub(crate) fn read_post(row: &Row<'_, '_>) -> Result<Post<UserId>, Error> {
    Ok(Post {
        id: row.post_id(0)?,
        message: row.optional_text(1)?.map(Message::stored),
        like_count: row.int(2)?,
        created_at: row.moment(3)?,
        is_liked: false,
        photo: read_photo(row, 4)?,
        user: row.user_id(9)?,
    })
}

/// The same, if it selects [`liked_by_first!`] as well.
pub(crate) fn read_post_as_seen(row: &Row<'_, '_>) -> Result<Post<UserId>, Error> {
    Ok(Post { is_liked: row.bool(10)?, ..read_post(row)? })
}
