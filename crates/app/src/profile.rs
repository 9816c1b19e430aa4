//! The profile: its photo, and what users say about themselves.

use imaging::RemovedMetadata;
use model::{ProfileEdit, Status, User, UserId};
use store::ProfilePhotoOutcome;

use crate::detached::detached;
use crate::quotas::quota_exceeded;
use crate::upload::{CLAIM_LOST, PreparedPhoto};
use crate::{App, Caller, Error, Upload};

impl App {
    /// Edits the caller's profile; returns the updated user.
    pub async fn edit_profile(&self, caller: &Caller, edit: ProfileEdit) -> Result<User, Error> {
        caller.check_active()?;
        let edited = self.0.store.edit_profile(caller.user.id, edit).await?;
        edited.ok_or(Error::Inactive(Status::Suspended))
    }

    /// Replaces the caller's profile photo and deletes the previous one with its images. Returns the updated
    /// user and the kinds of metadata removed from the upload.
    pub async fn set_profile_photo(
        &self,
        caller: &Caller,
        upload: Upload,
    ) -> Result<(User, RemovedMetadata), Error> {
        caller.check_active()?;
        let max_bytes = self.post_quota(caller.role).await?.bytes;
        self.replace_profile_photo(caller.user.id, upload, max_bytes).await
    }

    pub(crate) async fn replace_profile_photo(
        &self,
        user: UserId,
        upload: Upload,
        max_bytes: Option<u64>,
    ) -> Result<(User, RemovedMetadata), Error> {
        let PreparedPhoto { photo, files, removed, at } = self.prepare(upload).await?;
        let app = self.clone();
        let updated = detached(async move {
            let commit = app.0.store.set_profile_photo(user, photo, max_bytes, at);
            let is_changed = |outcome: &_| matches!(outcome, ProfilePhotoOutcome::Changed(_));
            let change = match app.store_photo(files, at, commit, is_changed).await? {
                ProfilePhotoOutcome::Changed(change) => change,
                ProfilePhotoOutcome::OverQuota(over) => return Err(quota_exceeded(over, at)),
                ProfilePhotoOutcome::Rejected => return Err(CLAIM_LOST),
            };
            if let Some(replaced) = change.replaced {
                app.delete_photo_files(replaced).await;
            }
            Ok(change.user)
        });
        Ok((updated.await?, removed))
    }

    /// Deletes the caller's profile photo with its images. Succeeds if there is none.
    pub async fn delete_profile_photo(&self, caller: &Caller) -> Result<(), Error> {
        let (app, user, now) = (self.clone(), caller.user.id, self.0.clock.now());
        detached(async move {
            if let Some(photo) = app.0.store.delete_profile_photo(user, now, None).await? {
                app.delete_photo_files(photo).await;
            }
            Ok(())
        })
        .await
    }
}
