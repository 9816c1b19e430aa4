//! The photo a member shows of themselves.

use futures_util::FutureExt;
use model::{PhotoId, Timestamp, User, UserId};

use crate::changes::Change;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::photos::{self, NewPhoto};
use crate::statements::statements;
use crate::store::Store;
use crate::tx::Tx;
use crate::users::by_id;

statements! {
    SHOW = "UPDATE users SET photo_id = $1 WHERE id = $2";
    HIDE = "UPDATE users SET photo_id = NULL WHERE id = $1";
    // Changes nothing, but whoever else wants to waits: what is read of the row afterwards stays true to the end.
    HOLD = "UPDATE users SET photo_id = photo_id WHERE id = $1";
}

/// A member with their new photo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portrait {
    pub user: User,
    /// The photo they showed before, whose bytes must go.
    pub replaced: Option<PhotoId>,
}

impl Store {
    /// Gives a member another photo; `None` when the claim on it had been given up.
    pub async fn set_profile_photo(
        &self,
        user: UserId,
        photo: NewPhoto,
        now: Timestamp,
    ) -> Result<Option<Portrait>, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                if !photos::redeem(tx, &photo, photo.photo.alt.as_ref(), now).await? {
                    return Ok(None);
                }
                let replaced = shown(tx, user).await?;
                tx.execute(SHOW, &[(&photo.photo.id).into(), user.into()]).await?;
                tx.record_change(Change::User(user));
                if let Some(old) = replaced {
                    photos::delete(tx, old, now).await?;
                }
                Ok(Some(Portrait { user: by_id(tx, user).await?, replaced }))
            }
            .boxed()
        })
        .await
    }

    /// Takes a member's photo away, and returns the one whose bytes must follow, if there was one.
    pub async fn delete_profile_photo(&self, user: UserId, now: Timestamp) -> Result<Option<PhotoId>, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let Some(old) = shown(tx, user).await? else { return Ok(None) };
                tx.execute(HIDE, &[user.into()]).await?;
                tx.record_change(Change::User(user));
                photos::delete(tx, old, now).await?;
                Ok(Some(old))
            }
            .boxed()
        })
        .await
    }
}

/// The photo a member shows, and will show until we say otherwise: two who change it at once must not both replace
/// the same one, for then nobody would collect the other.
async fn shown(tx: &mut Tx<'_>, user: UserId) -> Result<Option<PhotoId>, Error> {
    tx.execute(HOLD, &[user.into()]).await?;
    Ok(by_id(tx, user).await?.photo.map(|photo| photo.id))
}
