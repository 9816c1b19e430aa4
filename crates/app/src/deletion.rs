//! Deletion of accounts: hidden at once, deleted in the background, in steps that leave room for others.

use std::time::Duration;

use futures_util::future::join_all;
use model::{AuditAction, Reason, Refusal, UserId, Username};
use store::{AccessCheck, DeletionOutcome, LikeOutcome};
use tokio::time::{Instant, sleep, timeout};

use crate::actor::{Audited, Logged};
use crate::detached::detached;
use crate::{Actor, App, Caller, Client, Error};

/// Posts, and likes, that are deleted concurrently: their commits are batched.
const POSTS_AT_ONCE: u32 = 16;
const LIKES_AT_ONCE: u32 = 128;

/// How often accounts are looked for whose deletion a crash has interrupted.
const RESUME_INTERVAL: Duration = Duration::from_secs(60);

/// Between two attempts to delete the row of an account, while an old transaction is open.
const SETTLE_INTERVAL: Duration = Duration::from_millis(200);

/// Attempts before the next [`RESUME_INTERVAL`].
const SETTLE_ATTEMPTS: usize = 50;

impl App {
    /// Deletes the caller's account.
    pub async fn leave(&self, client: Client, caller: &Caller, password: String) -> Result<(), Error> {
        let hash = self.confirm_password(client, caller, "password", password).await?;
        self.mark_deleted(caller.user.id, Some(hash), None).await?;
        caller.log("user left");
        Ok(())
    }

    /// Deletes the account of another user.
    pub async fn delete_account(
        &self,
        actor: &Actor,
        username: &Username,
        reason: Option<Reason>,
    ) -> Result<(), Error> {
        let user = self.target(username).await?;
        actor.check_target(&user)?;
        actor.check_confirmed()?;
        let mut audit = self.audit(actor, AuditAction::DeleteAccount).about(&user);
        audit.detail = reason.map(|reason| reason.to_string());
        audit.logged(self.mark_deleted(user.id, None, Some(audit.clone())).await)
    }

    async fn mark_deleted(
        &self,
        user: UserId,
        password_hash: Option<String>,
        audit: Option<store::NewAuditEntry>,
    ) -> Result<(), Error> {
        let (app, now) = (self.clone(), self.0.clock.now());
        detached(async move {
            match app.0.store.mark_deleted(user, password_hash, now, audit).await? {
                DeletionOutcome::Marked(photo) => {
                    if let Some(photo) = photo {
                        app.delete_photo_files(photo).await;
                    }
                    app.0.deletions.notify_one();
                    Ok(())
                }
                DeletionOutcome::LastOwner => Err(Error::Conflict {
                    field: None,
                    refusal: Refusal::LastOwner,
                    message: "this is the only owner of the instance; make another user an owner first",
                }),
                DeletionOutcome::PasswordChanged => Err(Error::Conflict {
                    field: None,
                    refusal: Refusal::PasswordChanged,
                    message: "another request has changed the password meanwhile",
                }),
                DeletionOutcome::Missing => Err(Error::NO_SUCH_USER),
            }
        })
        .await
    }

    /// Deletes the rows and files of deleted accounts, as soon as one is marked, and after a restart.
    pub(crate) async fn delete_accounts_continuously(&self) {
        loop {
            if let Err(error) = self.delete_marked_accounts().await {
                tracing::warn!(%error, "deletion of an account interrupted; retry in a minute");
            }
            // The error is the timeout.
            _ = timeout(RESUME_INTERVAL, self.0.deletions.notified()).await;
        }
    }

    /// Deletes the rows and files of all accounts that are marked as deleted.
    pub async fn delete_marked_accounts(&self) -> Result<(), Error> {
        let mut failed = Ok(());
        for user in self.0.store.deleted_users().await? {
            let began = Instant::now();
            match self.delete_rows(user).await {
                Ok(Some((posts, likes))) => {
                    let ms = began.elapsed().as_millis();
                    tracing::info!(user_id = user.0, posts, likes, ms, "account deleted");
                }
                // An old transaction is open; the next round finishes it.
                Ok(None) => {}
                Err(error) => failed = Err(error),
            }
        }
        failed
    }

    /// Deletes uploads, posts, likes and then the row of an account; returns the number of posts and likes.
    /// `None` if the row has to stay for now.
    async fn delete_rows(&self, user: UserId) -> Result<Option<(usize, usize)>, Error> {
        let (mut posts, mut likes) = (0, 0);
        for _ in 0..SETTLE_ATTEMPTS {
            for upload in self.0.store.uploads_of(user).await? {
                self.remove_upload(user, upload, self.0.clock.now()).await?;
            }
            posts += self.delete_all_posts(user).await?;
            likes += self.delete_all_likes(user).await?;
            // A request that was in progress when the account was marked may have added something.
            if self.0.store.finish_deletion(user).await? {
                return Ok(Some((posts, likes)));
            }
            sleep(SETTLE_INTERVAL).await;
        }
        Ok(None)
    }

    async fn delete_all_posts(&self, user: UserId) -> Result<usize, Error> {
        let mut deleted = 0;
        loop {
            let began = Instant::now();
            let posts = self.0.store.posts_to_delete(user, POSTS_AT_ONCE).await?;
            if posts.is_empty() {
                return Ok(deleted);
            }
            let now = self.0.clock.now();
            let delete = async |id| {
                if let AccessCheck::Granted(photo) = self.0.store.delete_post(id, None, now, None).await? {
                    self.delete_photo_files(photo).await;
                }
                Ok::<(), Error>(())
            };
            for outcome in join_all(posts.iter().map(|id| delete(*id))).await {
                outcome?;
            }
            deleted += posts.len();
            pause(began).await;
        }
    }

    async fn delete_all_likes(&self, user: UserId) -> Result<usize, Error> {
        let mut deleted = 0;
        loop {
            let began = Instant::now();
            let posts = self.0.store.likes_to_delete(user, LIKES_AT_ONCE).await?;
            if posts.is_empty() {
                return Ok(deleted);
            }
            let mut changed = 0;
            for outcome in join_all(posts.iter().map(|post| self.0.store.unlike(user, *post))).await {
                changed += usize::from(outcome? == LikeOutcome::Changed);
            }
            // Another node deletes them as well, or they are likes of missing posts.
            if changed == 0 {
                return Ok(deleted);
            }
            deleted += changed;
            pause(began).await;
        }
    }
}

/// Leaves most of the time to requests.
async fn pause(began: Instant) {
    sleep(3 * began.elapsed()).await;
}
