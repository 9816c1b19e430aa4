//! Checks of the database by itself: integrity, counters, clocks, sessions, admins.

use std::time::Duration;

use app::{RESTORE_ADVICE, Settings};

use super::{Examination, Finding};
use crate::error::Error;
use crate::humanize::{count, size};

/// The difference between clocks that is tolerated.
const DRIFT: Duration = Duration::from_secs(5);

/// A row this far in the future means that a clock is or was wrong.
const FUTURE: Duration = Duration::from_secs(5 * 60);

/// How long expired sessions may remain: the service sweeps every minute.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

const FIX: &str = "Stop the service and run `pinhole doctor --fix`.";

impl Examination<'_> {
    pub(super) async fn integrity(&self) -> Result<Finding, Error> {
        let complaints = self.instance.store.integrity_errors().await?;
        let version = self.instance.store.schema_version();
        if complaints.is_empty() {
            return Ok(Finding::ok("database", format!("schema version {version}, integrity check passed")));
        }
        let what = format!("the database is damaged: {}", complaints.join("; "));
        Ok(Finding::problem("database", what).advice(RESTORE_ADVICE))
    }

    pub(super) async fn contents(&self) -> Result<Finding, Error> {
        let counts = self.instance.store.table_counts().await?;
        let totals = self.instance.store.totals().await?;
        let what = format!(
            "{}, {}, {} ({}), {}, {}",
            count(counts.users, "member"),
            count(counts.posts, "post"),
            count(counts.photos, "photo"),
            size(totals.bytes),
            count(counts.likes, "like"),
            count(counts.sessions, "session")
        );
        Ok(Finding::ok("contents", what))
    }

    pub(super) async fn clock(&self) -> Result<Finding, Error> {
        let (now, newest) = (self.now, self.instance.store.newest().await?);
        if newest.since(now) > FUTURE {
            let what = format!("this machine takes it to be {now}, but something was written at {newest}");
            return Ok(Finding::problem("clock", what).advice(
                "Set the clock, by NTP for instance. Was it ahead before, it comes right with time.",
            ));
        }
        let Some(theirs) = self.instance.store.clock().await? else {
            return Ok(Finding::ok("clock", format!("it is {now}, and nothing is newer")));
        };
        if now.since(theirs).max(theirs.since(now)) > DRIFT {
            let what = format!("this machine takes it to be {now}, the database {theirs}");
            return Ok(
                Finding::problem("clock", what).advice("Set the clocks of all nodes, by NTP for instance.")
            );
        }
        Ok(Finding::ok("clock", format!("it is {now}, here and at the database")))
    }

    pub(super) async fn likes(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let miscounted = store.miscounted().await?;
        if miscounted.is_empty() {
            return Ok(Finding::ok("likes", "every post has as many as it counts"));
        }
        let fixed = if self.fix {
            Some(format!("recounted: {}", count(store.recount_likes().await? as u64, "post")))
        } else {
            None
        };
        let posts = miscounted.iter().map(|miscount| {
            format!("post {} counts {}, has {}", miscount.post, miscount.like_count, miscount.likes)
        });
        Ok(Finding::problem("likes", "posts count other likes than they have")
            .about(posts)
            .fixed_or(fixed, FIX))
    }

    pub(super) async fn ids(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let behind = store.lagging_sequences().await?;
        if behind.is_empty() {
            return Ok(Finding::ok("ids", "the next ones are free"));
        }
        let fixed = if self.fix {
            Some(format!("moved on: {}", count(store.fix_sequences().await? as u64, "table")))
        } else {
            None
        };
        let what = "the next id to be handed out is taken, so nothing can be added";
        Ok(Finding::problem("ids", what).about(behind).fixed_or(fixed, FIX))
    }

    pub(super) async fn sessions(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let ended = self.now.minus(self.session_idle).minus(GRACE);
        let left = store.overdue(self.cutoff(), ended).await?.sessions;
        if left == 0 {
            return Ok(Finding::ok("sessions", "none has outlived its end"));
        }
        let mut fixed = None;
        if self.fix {
            let swept = store.sweep(self.now, self.session_idle, Settings::KEY_LIFE).await?;
            fixed = Some(format!("swept: {swept} sessions and upload keys"));
        }
        let what = format!("{left} expired long ago and were not swept");
        Ok(Finding::note("sessions", what).fixed_or(fixed, "The service sweeps them when it starts."))
    }

    pub(super) async fn admins(&self) -> Result<Finding, Error> {
        let mut unknown = Vec::new();
        for admin in self.admins {
            if self.instance.store.user(admin).await?.is_none() {
                unknown.push(admin);
            }
        }
        if unknown.is_empty() {
            let what = match self.admins.len() {
                0 => "none is named".to_owned(),
                1 => "one is named, and has joined".to_owned(),
                several => format!("{several} are named, and all have joined"),
            };
            return Ok(Finding::ok("admins", what));
        }
        Ok(Finding::problem(
            "admins",
            "some have not joined: anyone who takes such a name may delete any post",
        )
        .about(unknown)
        .advice("Join under these names, or take them out of `admins`."))
    }

    pub(super) async fn shown(&self) -> Result<Finding, Error> {
        let unshown = self.instance.store.unshown_photos().await?;
        if unshown.is_empty() {
            return Ok(Finding::ok("shown", "every photo is shown by a post or a member"));
        }
        Ok(Finding::problem("shown", "photos that neither a post nor a member shows")
            .about(unshown)
            .advice("This cannot come about by itself: keep a backup, and tell the makers of Pinhole."))
    }
}
