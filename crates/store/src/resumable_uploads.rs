//! Uploads that clients send in several requests: how much has arrived, and in which parts.
//!
//! The row of an upload is the claim on its folder in the blob store, whose id it has. The transaction that
//! deletes the row inserts the folder into `removals`.

use futures_util::FutureExt;
use model::{PhotoId, Timestamp, UserId};

use crate::error::Error;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::usage::{self, OverQuota};
use crate::{photos, posts};

statements! {
    INSERT = "INSERT INTO resumable_uploads
        (id, user_id, content_type, key, received, length, epoch, is_complete, expires_at)
        VALUES ($1, $2, $3, $4, 0, $5, 0, 0, $6)";
    FIND = "SELECT received, length, is_complete, expires_at, content_type, key, epoch FROM resumable_uploads
        WHERE id = $1 AND user_id = $2 AND expires_at > $3";
    INCOMPLETE = "SELECT id, expires_at FROM resumable_uploads WHERE user_id = $1 AND is_complete = 0
        ORDER BY expires_at LIMIT $2";
    // An append of an earlier epoch cannot add parts any more.
    NEXT_EPOCH = "UPDATE resumable_uploads SET epoch = epoch + 1, length = $1 WHERE id = $2 AND epoch = $3";
    ADVANCE = "UPDATE resumable_uploads SET received = $1, expires_at = $2 WHERE id = $3 AND epoch = $4 AND received = $5";
    INSERT_PART = "INSERT INTO upload_parts (upload_id, start, epoch) VALUES ($1, $2, $3)";
    PARTS = "SELECT start, epoch FROM upload_parts WHERE upload_id = $1 ORDER BY start";
    COUNT_PARTS = "SELECT count(*) FROM upload_parts WHERE upload_id = $1";
    COMPLETE = "UPDATE resumable_uploads SET is_complete = 1, expires_at = $1 WHERE id = $2 AND is_complete = 0";
    DELETE_PARTS = "DELETE FROM upload_parts WHERE upload_id = $1";
    // Its parts are deleted by their foreign key.
    DELETE = "DELETE FROM resumable_uploads WHERE id = $1 AND user_id = $2";
    EXPIRED = "SELECT id, user_id FROM resumable_uploads WHERE expires_at <= $1 ORDER BY expires_at LIMIT 1000";
    OF_USER = "SELECT id FROM resumable_uploads WHERE user_id = $1 ORDER BY expires_at LIMIT 1000";
}

#[derive(Debug, Clone)]
pub struct NewUpload {
    pub id: PhotoId,
    pub user: UserId,
    /// Of the whole body.
    pub content_type: String,
    /// The idempotency key of the post.
    pub key: String,
    /// The length of the whole body, if the client has told it.
    pub length: Option<u64>,
    pub expires_at: Timestamp,
}

/// How many unfinished uploads a user may have.
#[derive(Debug, Clone, Copy)]
pub struct UploadCap {
    pub max: usize,
    /// One more replaces the oldest if that expires before this time: it has been idle for long.
    pub replaceable: Timestamp,
    /// When the files of a replaced upload are deleted.
    pub delete_at: Timestamp,
}

/// The result of creating an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewUploadOutcome {
    Created,
    /// With the expiry of the oldest one.
    TooMany(Timestamp),
    /// The user was suspended, or has left.
    Inactive,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumableUpload {
    /// The number of bytes that are stored.
    pub received: u64,
    pub length: Option<u64>,
    pub is_complete: bool,
    pub expires_at: Timestamp,
    pub content_type: String,
    pub key: String,
    epoch: i64,
}

/// A request that appends to an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Append {
    pub id: PhotoId,
    pub user: UserId,
    pub epoch: u64,
    /// How many parts the upload has.
    pub parts: u64,
}

/// The result of adding a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartOutcome {
    Added,
    /// By another request.
    AppendEnded,
    OverQuota(OverQuota),
}

/// A part of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadPart {
    pub start: u64,
    pub epoch: u64,
}

impl Store {
    pub async fn create_upload(&self, new: NewUpload, cap: UploadCap) -> Result<NewUploadOutcome, Error> {
        self.write(LockKey::User(new.user), move |tx| {
            async move {
                let NewUpload { id, user, content_type, key, length, expires_at } = &new;
                if !posts::is_active(tx, *user).await? {
                    return Ok(NewUploadOutcome::Inactive);
                }
                let limit = i64::try_from(cap.max).unwrap_or(i64::MAX);
                let read = |row: &Row<'_, '_>| Ok((row.photo_id(0)?, row.timestamp(1)?));
                let unfinished = tx.all(INCOMPLETE, &[(*user).into(), limit.into()], read).await?;
                if let Some((oldest, expiry)) = unfinished.first().filter(|_| unfinished.len() >= cap.max) {
                    if *expiry > cap.replaceable {
                        return Ok(NewUploadOutcome::TooMany(*expiry));
                    }
                    remove(tx, *oldest, *user, cap.delete_at).await?;
                }
                let values = [
                    id.into(),
                    (*user).into(),
                    content_type.as_str().into(),
                    key.as_str().into(),
                    stored_length(*length).into(),
                    (*expires_at).into(),
                ];
                tx.execute(INSERT, &values).await?;
                Ok(NewUploadOutcome::Created)
            }
            .boxed()
        })
        .await
    }

    /// An upload of this user that has not expired.
    pub async fn resumable_upload(
        &self,
        id: PhotoId,
        user: UserId,
        now: Timestamp,
    ) -> Result<Option<ResumableUpload>, Error> {
        self.read(move |tx| async move { find(tx, id, user, now).await }.boxed()).await
    }

    /// Ends the append that is in progress, so that no part is added after the upload has been read.
    pub async fn interrupt_upload(
        &self,
        id: PhotoId,
        user: UserId,
        now: Timestamp,
    ) -> Result<Option<ResumableUpload>, Error> {
        self.write(id.into(), move |tx| {
            async move {
                let Some(upload) = find(tx, id, user, now).await? else { return Ok(None) };
                next_epoch(tx, id, &upload, upload.length).await?;
                // Read again: an append may have added a part between the two statements.
                find(tx, id, user, now).await
            }
            .boxed()
        })
        .await
    }

    /// Begins to append after `received` bytes, and ends the append in progress. `None` if the upload has
    /// received more or less or is complete, or another request has begun to append.
    pub async fn begin_append(
        &self,
        id: PhotoId,
        user: UserId,
        received: u64,
        length: Option<u64>,
        now: Timestamp,
    ) -> Result<Option<Append>, Error> {
        self.write(id.into(), move |tx| {
            async move {
                let upload = find(tx, id, user, now).await?;
                let Some(upload) = upload.filter(|upload| upload.received == received && !upload.is_complete)
                else {
                    return Ok(None);
                };
                if !next_epoch(tx, id, &upload, length).await? {
                    return Ok(None);
                }
                let parts = tx.first(COUNT_PARTS, &[(&id).into()], |row| row.unsigned(0)).await?;
                let epoch = u64::try_from(upload.epoch + 1).unwrap_or(0);
                Ok(Some(Append { id, user, epoch, parts: parts.unwrap_or(0) }))
            }
            .boxed()
        })
        .await
    }

    /// Adds a part whose file is stored, unless its user would have stored more than `max_bytes`.
    pub async fn add_part(
        &self,
        append: Append,
        (start, end): (u64, u64),
        expires_at: Timestamp,
        max_bytes: Option<u64>,
    ) -> Result<PartOutcome, Error> {
        self.write(LockKey::User(append.user), move |tx| {
            async move {
                let added = (end.saturating_sub(start), None);
                if let Some(over) = usage::over_bytes(tx, append.user, max_bytes, added).await? {
                    return Ok(PartOutcome::OverQuota(over));
                }
                let [start, end, epoch] =
                    [start, end, append.epoch].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
                let id = append.id;
                let values = [end.into(), expires_at.into(), (&id).into(), epoch.into(), start.into()];
                if tx.execute(ADVANCE, &values).await? == 0 {
                    return Ok(PartOutcome::AppendEnded);
                }
                tx.execute(INSERT_PART, &[(&id).into(), start.into(), epoch.into()]).await?;
                Ok(PartOutcome::Added)
            }
            .boxed()
        })
        .await
    }

    /// The parts of an upload, in order.
    pub async fn upload_parts(&self, id: PhotoId) -> Result<Vec<UploadPart>, Error> {
        self.read(move |tx| {
            async move {
                let read =
                    |row: &Row<'_, '_>| Ok(UploadPart { start: row.unsigned(0)?, epoch: row.unsigned(1)? });
                tx.all(PARTS, &[(&id).into()], read).await
            }
            .boxed()
        })
        .await
    }

    /// Records that the post of an upload was created, and schedules the files of its parts for deletion.
    pub async fn complete_upload(
        &self,
        id: PhotoId,
        expires_at: Timestamp,
        delete_at: Timestamp,
    ) -> Result<(), Error> {
        self.write(id.into(), move |tx| {
            async move {
                if tx.execute(COMPLETE, &[expires_at.into(), (&id).into()]).await? > 0 {
                    tx.execute(DELETE_PARTS, &[(&id).into()]).await?;
                    photos::begin_delete(tx, id, delete_at).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// Deletes an upload and schedules its files for deletion; `false` if the user has no such upload.
    pub async fn remove_upload(
        &self,
        id: PhotoId,
        user: UserId,
        delete_at: Timestamp,
    ) -> Result<bool, Error> {
        self.write_freeing(id.into(), move |tx| async move { remove(tx, id, user, delete_at).await }.boxed())
            .await
    }

    /// Deletes uploads that have expired, at most 1000, and schedules their files for deletion.
    pub async fn remove_expired_uploads(&self, now: Timestamp) -> Result<usize, Error> {
        self.write_freeing(LockKey::Maintenance, move |tx| {
            async move {
                let read = |row: &Row<'_, '_>| Ok((row.photo_id(0)?, row.user_id(1)?));
                let expired = tx.all(EXPIRED, &[now.into()], read).await?;
                for (id, user) in &expired {
                    remove(tx, *id, *user, now).await?;
                }
                Ok(expired.len())
            }
            .boxed()
        })
        .await
    }

    /// The uploads of a user, at most 1000.
    pub async fn uploads_of(&self, user: UserId) -> Result<Vec<PhotoId>, Error> {
        self.read(move |tx| {
            async move { tx.all(OF_USER, &[user.into()], |row| row.photo_id(0)).await }.boxed()
        })
        .await
    }
}

async fn find(
    tx: &mut Tx<'_>,
    id: PhotoId,
    user: UserId,
    now: Timestamp,
) -> Result<Option<ResumableUpload>, Error> {
    let read = |row: &Row<'_, '_>| {
        Ok(ResumableUpload {
            received: row.unsigned(0)?,
            length: if row.is_null(1)? { None } else { Some(row.unsigned(1)?) },
            is_complete: row.int(2)? != 0,
            expires_at: row.timestamp(3)?,
            content_type: row.text(4)?,
            key: row.text(5)?,
            epoch: row.int(6)?,
        })
    };
    tx.first(FIND, &[(&id).into(), user.into(), now.into()], read).await
}

/// `false` if another request has begun the next epoch.
async fn next_epoch(
    tx: &mut Tx<'_>,
    id: PhotoId,
    upload: &ResumableUpload,
    length: Option<u64>,
) -> Result<bool, Error> {
    let values = [stored_length(length).into(), (&id).into(), upload.epoch.into()];
    Ok(tx.execute(NEXT_EPOCH, &values).await? > 0)
}

async fn remove(tx: &mut Tx<'_>, id: PhotoId, user: UserId, delete_at: Timestamp) -> Result<bool, Error> {
    let is_removed = tx.execute(DELETE, &[(&id).into(), user.into()]).await? > 0;
    if is_removed {
        photos::begin_delete(tx, id, delete_at).await?;
    }
    Ok(is_removed)
}

fn stored_length(length: Option<u64>) -> Option<i64> {
    length.map(|length| i64::try_from(length).unwrap_or(i64::MAX))
}
