//! Profiles: the photo, and what users say about themselves.

use futures_util::FutureExt;
use model::{Bio, DisplayName, Link, PhotoId, ProfileEdit, Status, Timestamp, User, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::error::Error;
use crate::key::Key;
use crate::lock_key::LockKey;
use crate::photos::{self, NewPhoto};
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::usage::{self, OverQuota};
use crate::users::by_id;

statements! {
    SET = "UPDATE users SET photo_id = $1 WHERE id = $2";
    SET_DISPLAY_NAME = "UPDATE users SET display_name = $1 WHERE id = $2";
    SET_BIO = "UPDATE users SET bio = $1 WHERE id = $2";
    SET_LINK = "UPDATE users SET link = $1 WHERE id = $2";
    CLEAR = "UPDATE users SET photo_id = NULL WHERE id = $1";
    // Changes nothing, but locks the row until the commit.
    LOCK = "UPDATE users SET photo_id = photo_id WHERE id = $1";
}

/// A profile photo that has been replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileChange {
    pub user: User,
    /// The previous photo, whose files must be deleted.
    pub replaced: Option<PhotoId>,
}

/// The result of replacing a profile photo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfilePhotoOutcome {
    Changed(Box<ProfileChange>),
    /// The claim on the new photo was abandoned, or the user is not active any more.
    Rejected,
    OverQuota(OverQuota),
}

impl Store {
    /// `None` if the user is not active any more.
    pub async fn edit_profile(&self, user: UserId, edit: ProfileEdit) -> Result<Option<User>, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let Some(before) = active(tx, user).await? else { return Ok(None) };
                let ProfileEdit { display_name, bio, link } = &edit;
                let edits = [
                    (
                        SET_DISPLAY_NAME,
                        display_name.as_ref().map(|text| text.as_ref().map(DisplayName::as_str)),
                    ),
                    (SET_BIO, bio.as_ref().map(|text| text.as_ref().map(Bio::as_str))),
                    (SET_LINK, link.as_ref().map(|text| text.as_ref().map(Link::as_str))),
                ];
                for (statement, text) in edits {
                    if let Some(text) = text {
                        tx.execute(statement, &[text.into(), user.into()]).await?;
                    }
                }
                let after = by_id(tx, user).await?;
                // Much is made from it, so not for nothing.
                if after != before {
                    tx.publish(Key::user(user));
                }
                Ok(Some(after))
            }
            .boxed()
        })
        .await
    }

    /// Replaces a user's profile photo, unless the user would have stored more than `max_bytes`.
    pub async fn set_profile_photo(
        &self,
        user: UserId,
        photo: NewPhoto,
        max_bytes: Option<u64>,
        now: Timestamp,
    ) -> Result<ProfilePhotoOutcome, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                tx.execute(LOCK, &[user.into()]).await?;
                if active(tx, user).await?.is_none() {
                    photos::abandon(tx, photo.photo.id, now).await?;
                    return Ok(ProfilePhotoOutcome::Rejected);
                }
                let replaced = lock_photo(tx, user).await?;
                let added = (photo.bytes, replaced);
                if let Some(over) = usage::over_bytes(tx, user, max_bytes, added).await? {
                    photos::abandon(tx, photo.photo.id, now).await?;
                    return Ok(ProfilePhotoOutcome::OverQuota(over));
                }
                if !photos::commit_upload(tx, &photo, photo.photo.alt.as_ref(), now).await? {
                    return Ok(ProfilePhotoOutcome::Rejected);
                }
                tx.execute(SET, &[(&photo.photo.id).into(), user.into()]).await?;
                tx.publish(Key::user(user));
                if let Some(old) = replaced {
                    photos::delete(tx, old, now).await?;
                }
                let user = by_id(tx, user).await?;
                Ok(ProfilePhotoOutcome::Changed(Box::new(ProfileChange { user, replaced })))
            }
            .boxed()
        })
        .await
    }

    /// Removes a user's profile photo; returns the photo whose files must be deleted, if there was one.
    pub async fn delete_profile_photo(
        &self,
        user: UserId,
        now: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<Option<PhotoId>, Error> {
        self.write_freeing(LockKey::User(user), move |tx| {
            async move {
                let Some(old) = lock_photo(tx, user).await? else { return Ok(None) };
                tx.execute(CLEAR, &[user.into()]).await?;
                tx.publish(Key::user(user));
                photos::delete(tx, old, now).await?;
                if let Some(audit) = &audit {
                    audit_log::append(tx, audit).await?;
                }
                Ok(Some(old))
            }
            .boxed()
        })
        .await
    }
}

/// The user, unless they were suspended or have left since the request began.
async fn active(tx: &mut Tx<'_>, user: UserId) -> Result<Option<User>, Error> {
    Ok(Some(by_id(tx, user).await?).filter(|user| user.status == Status::Active))
}

/// A user's profile photo, with the user's row locked until the commit: if two concurrent changes replaced
/// the same photo, one of the new photos would never be deleted.
async fn lock_photo(tx: &mut Tx<'_>, user: UserId) -> Result<Option<PhotoId>, Error> {
    tx.execute(LOCK, &[user.into()]).await?;
    Ok(by_id(tx, user).await?.photo.map(|photo| photo.id))
}
