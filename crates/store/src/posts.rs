//! Posts: creating, reading, editing and deleting them.

use futures_util::FutureExt;
use model::{
    Alt, Focus, Message, Photo, PhotoId, Placeholder, Post, PostContent, PostEdit, PostId, Reason,
    RequestDigest, Status, Timestamp, UserId,
};

use crate::account_imports;
use crate::audit_log::{self, NewAuditEntry};
use crate::column::Column;
use crate::error::Error;
use crate::idempotency_keys::{self, RequestKey};
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::photos::{self, NewPhoto};
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::tags;
use crate::tx::Tx;
use crate::usage::{self, OverQuota, PostQuota};
use crate::users::ANONYMOUS;

table! {
    /// A row of `posts`. It repeats columns of its photo, so that a page of the feed is read from one table.
    PostRow = "posts", key (id), sequence {
        id: PostId,
        user_id: UserId,
        photo_id: PhotoId,
        width: u32,
        height: u32,
        placeholder: Placeholder,
        alt: Option<Alt>,
        message: Option<Message>,
        like_count: i64,
        created_at: Timestamp,
        hidden_reason: Option<Reason>,
        focus: Option<Focus>,
        share_original: bool,
    }
}

impl From<PostRow> for Post<UserId> {
    /// For an anonymous viewer: `is_liked` is false.
    fn from(row: PostRow) -> Self {
        let PostRow {
            id,
            user_id,
            photo_id,
            width,
            height,
            placeholder,
            alt,
            message,
            like_count,
            created_at,
            hidden_reason,
            focus,
            share_original,
        } = row;
        let focus = focus.unwrap_or_default();
        Self {
            id,
            photo: Photo { id: photo_id, width, height, placeholder, alt, focus },
            message,
            user: user_id,
            created_at,
            is_liked: false,
            like_count,
            hidden_reason,
            share_original,
        }
    }
}

/// Selects all columns of the posts `p`, and whether the user `$1` likes each. Not by EXISTS, for which
/// PostgreSQL would read all likes of the user.
pub(crate) const SELECT_LIKED: &str = sql!(
    "SELECT ",
    PostRow::COLUMN_LIST,
    ", (SELECT 1 FROM likes l WHERE l.user_id = $1 AND l.post_id = p.id) IS NOT NULL FROM posts p "
);

statements! {
    FIND = sql!(SELECT_LIKED, "WHERE p.id = $2");
    AUTHOR = "SELECT user_id FROM posts WHERE id = $1";
    IS_HIDDEN = "SELECT 1 FROM posts WHERE id = $1 AND hidden_reason IS NOT NULL";
    INSERT = sql!(PostRow::INSERT_NEW, " RETURNING id");
    EDIT_MESSAGE = "UPDATE posts SET message = $1 WHERE id = $2";
    EDIT_ALT = "UPDATE posts SET alt = $1 WHERE id = $2";
    EDIT_SHARING = "UPDATE posts SET share_original = $1 WHERE id = $2";
    REPLACE_PHOTO = "UPDATE posts SET photo_id = $1, width = $2, height = $3, placeholder = $4, focus = $5 WHERE id = $6";
    // `likes` has no foreign keys on PostgreSQL.
    DELETE_LIKES = "DELETE FROM likes WHERE post_id = $1";
    DELETE = "DELETE FROM posts WHERE id = $1 RETURNING photo_id";
    STATUS = "SELECT status FROM users WHERE id = $1";
}

#[derive(Debug, Clone)]
pub struct NewPost {
    pub author: UserId,
    pub photo: NewPhoto,
    pub content: PostContent,
    pub key: Option<RequestKey>,
    /// Idempotency keys from before this time have expired.
    pub keys_since: Timestamp,
    pub created_at: Timestamp,
    /// For a post of another instance.
    pub publication: Option<Publication>,
    pub quota: PostQuota,
    /// The resumable upload that it comes from. Its parts do not count: the photo replaces them.
    pub upload: Option<PhotoId>,
}

/// Where and when an imported post was first published.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// The id of its photo there, which identifies the post on every instance.
    pub source: PhotoId,
    pub created_at: Timestamp,
}

impl NewPost {
    /// Without content, an idempotency key and a quota.
    pub fn new(author: UserId, photo: NewPhoto, created_at: Timestamp) -> Self {
        Self {
            author,
            photo,
            content: PostContent::default(),
            key: None,
            keys_since: created_at,
            created_at,
            publication: None,
            quota: PostQuota::default(),
            upload: None,
        }
    }
}

/// The result of creating a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateOutcome {
    New(Post<UserId>),
    /// An earlier upload had the same idempotency key; this upload was scheduled for deletion.
    Replayed(Replay),
    /// The claim on the photo was abandoned, because the upload took too long.
    ClaimLost,
    /// The author was suspended, or has left, during the upload.
    AuthorInactive,
    /// An import has created the post before; this upload was scheduled for deletion.
    AlreadyImported,
    /// Other posts have used up a quota meanwhile; this upload was scheduled for deletion.
    OverQuota(OverQuota),
}

/// What an earlier upload with the same idempotency key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    pub id: PostId,
    /// `None` if it has been deleted.
    pub post: Option<Post<UserId>>,
    /// Of the earlier request; `None` if it is from before digests were kept.
    pub digest: Option<RequestDigest>,
}

/// The result of an operation on a post that only its author, or a moderator, may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessCheck<T> {
    Granted(T),
    Forbidden,
    /// The user has been suspended, or has left.
    Inactive,
    Missing,
}

impl Store {
    pub async fn create_post(&self, new: NewPost) -> Result<CreateOutcome, Error> {
        self.write(LockKey::User(new.author), move |tx| async move { create(tx, new).await }.boxed()).await
    }

    /// What an upload with this idempotency key did after `since`.
    pub async fn find_replay(
        &self,
        author: UserId,
        key: String,
        since: Timestamp,
    ) -> Result<Option<Replay>, Error> {
        self.read(move |tx| async move { find_replay(tx, author, &key, since).await }.boxed()).await
    }

    pub async fn post(&self, id: PostId, viewer: Option<UserId>) -> Result<Option<Post<UserId>>, Error> {
        self.read(move |tx| async move { find(tx, id, viewer).await }.boxed()).await
    }

    pub async fn post_author(&self, id: PostId) -> Result<Option<UserId>, Error> {
        self.read(move |tx| async move { author(tx, id).await }.boxed()).await
    }

    /// Edits a post, of which `editor` must be the author.
    pub async fn edit_post(
        &self,
        id: PostId,
        editor: UserId,
        edit: PostEdit,
    ) -> Result<AccessCheck<Post<UserId>>, Error> {
        self.write(LockKey::Post(id), move |tx| async move { edit_post(tx, id, editor, &edit).await }.boxed())
            .await
    }

    /// Edits a post, and replaces its photo by `new`, which was made from `old`. The files of `old` must be
    /// deleted next. `None` if its photo was replaced meanwhile, or the claim on `new` was lost.
    pub async fn replace_post_photo(
        &self,
        id: PostId,
        editor: UserId,
        edit: PostEdit,
        old: PhotoId,
        new: NewPhoto,
        now: Timestamp,
    ) -> Result<Option<AccessCheck<Post<UserId>>>, Error> {
        self.write(LockKey::Post(id), move |tx| {
            async move {
                let Photo { id: photo, width, height, placeholder, focus, .. } = &new.photo;
                let current = find(tx, id, None).await?;
                if current.is_some_and(|current| current.photo.id != old) {
                    photos::abandon(tx, *photo, now).await?;
                    return Ok(None);
                }
                if !photos::commit_upload(tx, &new, None, now).await? {
                    return Ok(None);
                }
                let edited = edit_post(tx, id, editor, &edit).await?;
                if !matches!(edited, AccessCheck::Granted(_)) {
                    photos::delete(tx, *photo, now).await?;
                    return Ok(Some(edited));
                }
                let focus = photos::stored_focus(*focus).map(Focus::to_stored);
                let values = [
                    photo.into(),
                    (*width).into(),
                    (*height).into(),
                    placeholder[..].into(),
                    focus.into(),
                    id.into(),
                ];
                account_imports::keep_source(tx, id).await?;
                tx.execute(REPLACE_PHOTO, &values).await?;
                photos::delete(tx, old, now).await?;
                let post = find(tx, id, Some(editor)).await?;
                Ok(Some(post.map_or(AccessCheck::Missing, AccessCheck::Granted)))
            }
            .boxed()
        })
        .await
    }

    /// Deletes a post with its likes, and returns the photo whose files must be deleted next. `only_by` is
    /// the user who must be its author; `None` for an administrator. An import does not bring back what
    /// moderators have deleted, or hidden before.
    pub async fn delete_post(
        &self,
        id: PostId,
        only_by: Option<UserId>,
        now: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<AccessCheck<PhotoId>, Error> {
        self.write_freeing(LockKey::Post(id), move |tx| {
            async move {
                let Some(author) = author(tx, id).await? else { return Ok(AccessCheck::Missing) };
                if only_by.is_some_and(|user| user != author) {
                    return Ok(AccessCheck::Forbidden);
                }
                if audit.is_some() || is_hidden(tx, id).await? {
                    account_imports::keep_source(tx, id).await?;
                }
                tx.execute(DELETE_LIKES, &[id.into()]).await?;
                let Some(photo) = tx.first(DELETE, &[id.into()], |row| row.photo_id(0)).await? else {
                    return Ok(AccessCheck::Missing);
                };
                photos::delete(tx, photo, now).await?;
                publish_list(tx, id, author);
                if let Some(audit) = &audit {
                    audit_log::append(tx, audit).await?;
                }
                Ok(AccessCheck::Granted(photo))
            }
            .boxed()
        })
        .await
    }
}

/// Publishes that a post was added to lists, or removed from them.
pub(crate) fn publish_list(tx: &mut Tx<'_>, post: PostId, author: UserId) {
    for key in [Key::post(post), Key::posts_of(author), Key::POSTS] {
        tx.publish(key);
    }
}

async fn edit_post(
    tx: &mut Tx<'_>,
    id: PostId,
    editor: UserId,
    edit: &PostEdit,
) -> Result<AccessCheck<Post<UserId>>, Error> {
    match author(tx, id).await? {
        None => return Ok(AccessCheck::Missing),
        Some(author) if author != editor => return Ok(AccessCheck::Forbidden),
        Some(_) => {}
    }
    if !is_active(tx, editor).await? {
        return Ok(AccessCheck::Inactive);
    }
    tx.publish(Key::post(id));
    if let Some(message) = &edit.message {
        let text = message.as_ref().map(Message::as_str);
        tx.execute(EDIT_MESSAGE, &[text.into(), id.into()]).await?;
        tags::replace(tx, &[(id, message.as_ref())]).await?;
    }
    if let Some(alt) = &edit.alt {
        tx.execute(EDIT_ALT, &[alt.as_ref().map(Alt::as_str).into(), id.into()]).await?;
    }
    if let Some(share_original) = edit.share_original {
        tx.execute(EDIT_SHARING, &[i64::from(share_original).into(), id.into()]).await?;
    }
    Ok(find(tx, id, Some(editor)).await?.map_or(AccessCheck::Missing, AccessCheck::Granted))
}

async fn create(tx: &mut Tx<'_>, new: NewPost) -> Result<CreateOutcome, Error> {
    let (user_id, now) = (new.author, new.created_at);
    if let Some(key) = &new.key
        && let Some(replay) = find_replay(tx, user_id, &key.key, new.keys_since).await?
    {
        photos::abandon(tx, new.photo.photo.id, now).await?;
        return Ok(CreateOutcome::Replayed(replay));
    }
    if !is_active(tx, user_id).await? {
        photos::abandon(tx, new.photo.photo.id, now).await?;
        return Ok(CreateOutcome::AuthorInactive);
    }
    if let Some(Publication { source, .. }) = &new.publication
        && account_imports::is_known(tx, user_id, source).await?
    {
        photos::abandon(tx, new.photo.photo.id, now).await?;
        return Ok(CreateOutcome::AlreadyImported);
    }
    let added = (new.photo.bytes, new.upload);
    if let Some(over) = usage::over_quota(tx, user_id, new.quota, added, now).await? {
        photos::abandon(tx, new.photo.photo.id, now).await?;
        return Ok(CreateOutcome::OverQuota(over));
    }
    // The alt text is stored in the post's row.
    if !photos::commit_upload(tx, &new.photo, None, now).await? {
        return Ok(CreateOutcome::ClaimLost);
    }
    let Photo { id: photo_id, width, height, placeholder, alt, focus } = new.photo.photo;
    if let Some(key) = &new.key
        && !idempotency_keys::reserve(tx, user_id, key, now, new.keys_since).await?
    {
        // The same upload reached another node too, which committed first.
        photos::delete(tx, photo_id, now).await?;
        let replay = find_replay(tx, user_id, &key.key, new.keys_since).await?;
        let expired = || Error::Conflict("an idempotency key was reserved and has expired".into());
        return replay.map(CreateOutcome::Replayed).ok_or_else(expired);
    }
    if let Some(Publication { source, .. }) = &new.publication
        && !account_imports::reserve(tx, user_id, source).await?
    {
        // Another node imports the same post, and committed first.
        photos::delete(tx, photo_id, now).await?;
        return Ok(CreateOutcome::AlreadyImported);
    }
    let mut row = PostRow {
        // Assigned by the sequence.
        id: PostId(0),
        user_id,
        photo_id,
        width,
        height,
        placeholder,
        alt,
        message: new.content.message,
        like_count: 0,
        created_at: new.publication.map_or(now, |publication| publication.created_at),
        hidden_reason: None,
        focus: photos::stored_focus(focus),
        share_original: new.content.share_original,
    };
    let id = tx.first(INSERT, &row.values()[1..], |row| row.post_id(0)).await?;
    row.id = id.ok_or_else(|| Error::Corrupt("an insert returned no id".into()))?;
    usage::count(tx, user_id, row.id, now).await?;
    publish_list(tx, row.id, user_id);
    if tags::may_have_tags(row.message.as_ref()) {
        tags::replace(tx, &[(row.id, row.message.as_ref())]).await?;
    }
    if let Some(key) = &new.key {
        idempotency_keys::assign(tx, user_id, &key.key, row.id).await?;
    }
    if let Some(Publication { source, .. }) = &new.publication {
        account_imports::assign(tx, user_id, source, row.id).await?;
    }
    Ok(CreateOutcome::New(row.into()))
}

/// A request may have begun before its user was suspended.
pub(crate) async fn is_active(tx: &mut Tx<'_>, user: UserId) -> Result<bool, Error> {
    let status = tx.first(STATUS, &[user.into()], |row| Status::read(row, 0)).await?;
    Ok(status == Some(Status::Active))
}

async fn find(tx: &mut Tx<'_>, id: PostId, viewer: Option<UserId>) -> Result<Option<Post<UserId>>, Error> {
    tx.first(FIND, &[viewer.unwrap_or(ANONYMOUS).into(), id.into()], read_liked_post).await
}

async fn author(tx: &mut Tx<'_>, id: PostId) -> Result<Option<UserId>, Error> {
    tx.first(AUTHOR, &[id.into()], |row| row.user_id(0)).await
}

async fn is_hidden(tx: &mut Tx<'_>, id: PostId) -> Result<bool, Error> {
    Ok(tx.first(IS_HIDDEN, &[id.into()], |_| Ok(())).await?.is_some())
}

async fn find_replay(
    tx: &mut Tx<'_>,
    author: UserId,
    key: &str,
    since: Timestamp,
) -> Result<Option<Replay>, Error> {
    let Some((id, digest)) = idempotency_keys::find(tx, author, key, since).await? else { return Ok(None) };
    Ok(Some(Replay { id, post: find(tx, id, Some(author)).await?, digest }))
}

/// Reads the columns of a [`PostRow`].
pub(crate) fn read_post(row: &Row<'_, '_>) -> Result<Post<UserId>, Error> {
    PostRow::read(row).map(Post::from)
}

/// Reads the columns of [`SELECT_LIKED`].
pub(crate) fn read_liked_post(row: &Row<'_, '_>) -> Result<Post<UserId>, Error> {
    Ok(Post { is_liked: row.bool(PostRow::COLUMNS.len())?, ..read_post(row)? })
}
