//! The photo one shows of oneself.

use imaging::Removed;
use model::User;

use crate::detached::detached;
use crate::upload::{CLAIM_LOST, Prepared};
use crate::{App, Caller, Error, Upload};

impl App {
    /// Gives the caller another photo and takes the earlier one away, with every image made of it. Returns
    /// them as they are now, and what was taken out of the file.
    pub async fn set_profile_photo(&self, caller: &Caller, upload: Upload) -> Result<(User, Removed), Error> {
        let Prepared { photo, files, removed, at } = self.prepare(upload).await?;
        let (app, user) = (self.clone(), caller.user.id);
        let shown = detached(async move {
            let redeem = app.0.store.set_profile_photo(user, photo, at);
            let portrait = app.keep(files, at, redeem, Option::is_some).await?.ok_or(CLAIM_LOST)?;
            if let Some(replaced) = portrait.replaced {
                app.remove_bytes(replaced).await;
            }
            Ok(portrait.user)
        });
        Ok((shown.await?, removed))
    }

    /// Takes the caller's photo away, with every image made of it. Fine if there is none.
    pub async fn delete_profile_photo(&self, caller: &Caller) -> Result<(), Error> {
        let (app, user, now) = (self.clone(), caller.user.id, self.0.clock.now());
        detached(async move {
            if let Some(photo) = app.0.store.delete_profile_photo(user, now).await? {
                app.remove_bytes(photo).await;
            }
            Ok(())
        })
        .await
    }
}
