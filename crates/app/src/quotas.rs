//! Quotas: what the caller may store and do, and how much of it is used.

use std::time::Duration;

use model::{PhotoId, PostId, Reason, Refusal, Role, Status, Timestamp, User, UserId};
use store::{AuditRow, OverQuota, PostQuota};

use crate::instance_settings::MAX_POSTS_PER_DAY;
use crate::like_counts::MINUTE_MICROS;
use crate::scheduler::SlotPermit;
use crate::spooling::SpoolShare;
use crate::{App, Caller, Client, Error, Quota};

/// The caller's account: role, status and quotas.
#[derive(Debug, Clone)]
pub struct Account {
    pub status: Status,
    pub status_reason: Option<Reason>,
    /// Posts that moderators have hidden, with their reasons.
    pub hidden_posts: Vec<(PostId, Reason)>,
    /// What moderators have removed, newest first.
    pub removals: Vec<Removal>,
    pub quota: Quota,
    pub usage: Usage,
}

/// A post or a profile photo that a moderator has removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The post; `None` for the profile photo.
    pub post: Option<PostId>,
    pub reason: Option<String>,
    pub removed_at: Timestamp,
}

/// What a user has stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Photos, and what has arrived of unfinished uploads.
    pub bytes: u64,
    /// Posts of the last 24 hours, deleted ones included.
    pub posts_today: u64,
}

impl App {
    /// Counts a like towards the caller's quota.
    pub(crate) async fn count_like(&self, caller: &Caller) -> Result<(), Error> {
        let Some(max) = self.instance().await?.quota(caller.role).likes_per_minute else { return Ok(()) };
        let now = self.0.clock.now();
        if self.0.like_counts.lock().count(caller.user.id, now, max) {
            return Ok(());
        }
        let rest = MINUTE_MICROS - now.micros() % MINUTE_MICROS;
        let message = format!("you may like {max} posts a minute, and have done so");
        let rule = Error::limit(Refusal::LikesPerMinute, max, message);
        Err(Error::Quota { rule, retry_after: Some(Duration::from_micros(rest.unsigned_abs())) })
    }

    /// A place among long reads for what reads all posts of a user.
    pub(crate) async fn sum_slot(&self, client: Client) -> Result<SlotPermit, Error> {
        self.0.long_reads.acquire(client, 0).await
    }

    pub async fn account(&self, caller: &Caller) -> Result<Account, Error> {
        let (store, user) = (&self.0.store, caller.user.id);
        let now = self.0.clock.now();
        let _slot = self.sum_slot(caller.client).await?;
        Ok(Account {
            status: caller.user.status,
            status_reason: store.status_reason(user).await?,
            hidden_posts: store.hidden_posts_by(user).await?,
            removals: self.removals(&caller.user).await?,
            quota: self.instance().await?.quota(caller.role),
            usage: Usage {
                bytes: store.stored_bytes(user).await?,
                posts_today: store.posts_today(user, now, MAX_POSTS_PER_DAY).await?,
            },
        })
    }

    async fn removals(&self, user: &User) -> Result<Vec<Removal>, Error> {
        let entries = self.0.store.removals_of(user.username.to_string(), user.created_at).await?;
        let removal = |entry: AuditRow| Removal {
            post: entry.post_id,
            reason: entry.detail,
            removed_at: entry.created_at,
        };
        Ok(entries.into_iter().map(removal).collect())
    }

    /// Fails if a user has reached a quota, before an upload is read. The transaction that creates the post
    /// checks it again. `upload` is the unfinished upload that the post replaces.
    pub(crate) async fn check_quota(
        &self,
        client: Client,
        user: UserId,
        quota: PostQuota,
        upload: Option<PhotoId>,
    ) -> Result<(), Error> {
        let now = self.0.clock.now();
        let _slot = if quota.bytes.is_some() { Some(self.sum_slot(client).await?) } else { None };
        match self.0.store.over_quota(user, quota, upload, now).await? {
            Some(over) => Err(quota_exceeded(over, now)),
            None => Ok(()),
        }
    }

    /// The share of an upload that is about to arrive.
    pub async fn begin_spooling(&self, caller: &Caller) -> Result<SpoolShare, Error> {
        let user = caller.user.id;
        let limit = match self.post_quota(caller.role).await?.bytes {
            None => None,
            Some(max) => {
                let _slot = self.sum_slot(caller.client).await?;
                let left = max.saturating_sub(self.0.store.stored_bytes(user).await?);
                let over = quota_exceeded(OverQuota::Bytes { max }, self.0.clock.now());
                Some((left.max(self.max_upload()), over))
            }
        };
        Ok(self.0.spooling.share(user, limit))
    }

    pub(crate) async fn post_quota(&self, role: Role) -> Result<PostQuota, Error> {
        let Quota { bytes, posts_per_day, likes_per_minute: _ } = self.instance().await?.quota(role);
        Ok(PostQuota { bytes, posts_per_day })
    }
}

pub(crate) fn quota_exceeded(over: OverQuota, now: Timestamp) -> Error {
    match over {
        OverQuota::PostsPerDay { max, until } => {
            let message = format!("you may post {max} photos in 24 hours, and have done so");
            let rule = Error::limit(Refusal::PostsPerDay, max, message);
            Error::Quota { rule, retry_after: Some(until.since(now)) }
        }
        OverQuota::Bytes { max } => {
            let message = format!("your photos may take {max} bytes, which is your quota; delete some first");
            let rule = Error::limit(Refusal::Storage, max, message);
            Error::Quota { rule, retry_after: None }
        }
    }
}
