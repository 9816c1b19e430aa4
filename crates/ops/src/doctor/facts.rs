//! What the database says, held against itself and the time of day.

use std::time::Duration;

use app::{DAMAGED, Settings};

use super::{Examination, Finding};
use crate::error::MoveError;
use crate::humanize::{count, size};

/// Clocks that agree to this are right enough.
const DRIFT: Duration = Duration::from_secs(5);

/// A moment so far in the future was not written by a clock that is right.
const FUTURE: Duration = Duration::from_secs(5 * 60);

/// How long after their end sessions may still be there: the service sweeps every minute.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

const FIX: &str = "Stop the service and run `pinhole doctor --fix`.";

impl Examination<'_> {
    pub(super) async fn engine(&self) -> Result<Finding, MoveError> {
        let complaints = self.instance.store.complaints().await?;
        let version = self.instance.store.schema_version();
        if complaints.is_empty() {
            return Ok(Finding::fine(
                "database",
                format!("schema version {version}, whole by its own account"),
            ));
        }
        let what = format!("the database is damaged: {}", complaints.join("; "));
        Ok(Finding::problem("database", what).advice(DAMAGED))
    }

    pub(super) async fn contents(&self) -> Result<Finding, MoveError> {
        let census = self.instance.store.census().await?;
        let totals = self.instance.store.totals().await?;
        let what = format!(
            "{}, {}, {} ({}), {}, {}",
            count(census.users, "member"),
            count(census.posts, "post"),
            count(census.photos, "photo"),
            size(totals.bytes),
            count(census.likes, "like"),
            count(census.sessions, "session")
        );
        Ok(Finding::fine("contents", what))
    }

    pub(super) async fn clock(&self) -> Result<Finding, MoveError> {
        let (now, newest) = (self.now, self.instance.store.newest().await?);
        if newest.since(now) > FUTURE {
            let what = format!("this machine takes it to be {now}, but something was written at {newest}");
            return Ok(Finding::problem("clock", what).advice(
                "Set the clock, by NTP for instance. Was it ahead before, it comes right with time.",
            ));
        }
        let Some(theirs) = self.instance.store.clock().await? else {
            return Ok(Finding::fine("clock", format!("it is {now}, and nothing is newer")));
        };
        if now.since(theirs).max(theirs.since(now)) > DRIFT {
            let what = format!("this machine takes it to be {now}, the database {theirs}");
            return Ok(
                Finding::problem("clock", what).advice("Set the clocks of all nodes, by NTP for instance.")
            );
        }
        Ok(Finding::fine("clock", format!("it is {now}, here and at the database")))
    }

    pub(super) async fn likes(&self) -> Result<Finding, MoveError> {
        let store = &self.instance.store;
        let miscounted = store.miscounted().await?;
        if miscounted.is_empty() {
            return Ok(Finding::fine("likes", "every post has as many as it counts"));
        }
        let mended = if self.fix {
            Some(format!("counted anew: {}", count(store.recount_likes().await? as u64, "post")))
        } else {
            None
        };
        let posts = miscounted.iter().map(|miscount| {
            format!("post {} counts {}, has {}", miscount.post, miscount.like_count, miscount.likes)
        });
        Ok(Finding::problem("likes", "posts count other likes than they have")
            .about(posts)
            .mended_or(mended, FIX))
    }

    pub(super) async fn ids(&self) -> Result<Finding, MoveError> {
        let store = &self.instance.store;
        let behind = store.exhausted_sequences().await?;
        if behind.is_empty() {
            return Ok(Finding::fine("ids", "the next ones are free"));
        }
        let mended = if self.fix {
            Some(format!("moved on: {}", count(store.mend_sequences().await? as u64, "table")))
        } else {
            None
        };
        let what = "the next id to be handed out is taken, so nothing can be added";
        Ok(Finding::problem("ids", what).about(behind).mended_or(mended, FIX))
    }

    pub(super) async fn sessions(&self) -> Result<Finding, MoveError> {
        let store = &self.instance.store;
        let ended = self.now.minus(self.session_idle).minus(GRACE);
        let left = store.lingering(self.before(), ended).await?.sessions;
        if left == 0 {
            return Ok(Finding::fine("sessions", "none has outlived its end"));
        }
        let mut mended = None;
        if self.fix {
            let swept = store.sweep(self.now, self.session_idle, Settings::KEY_LIFE).await?;
            mended = Some(format!("swept away: {swept} sessions and upload keys"));
        }
        let what = format!("{left} ended long ago and are still there, of no use to anybody");
        Ok(Finding::note("sessions", what).mended_or(mended, "The service sweeps them away when it starts."))
    }

    pub(super) async fn admins(&self) -> Result<Finding, MoveError> {
        let mut strangers = Vec::new();
        for admin in self.admins {
            if self.instance.store.user(admin).await?.is_none() {
                strangers.push(admin);
            }
        }
        if strangers.is_empty() {
            let what = match self.admins.len() {
                0 => "nobody is named".to_owned(),
                1 => "one is named, and has joined".to_owned(),
                several => format!("{several} are named, and all have joined"),
            };
            return Ok(Finding::fine("admins", what));
        }
        Ok(Finding::problem("admins", "some have not joined: whoever takes such a name may delete any post")
            .about(strangers)
            .advice("Join under these names, or take them out of `admins`."))
    }

    pub(super) async fn shown(&self) -> Result<Finding, MoveError> {
        let unshown = self.instance.store.unshown_photos().await?;
        if unshown.is_empty() {
            return Ok(Finding::fine("shown", "every photo is somebody's"));
        }
        Ok(Finding::problem("shown", "photos that neither a post nor a member shows")
            .about(unshown)
            .advice("This cannot come about by itself: keep a backup, and tell the makers of Pinhole."))
    }
}
