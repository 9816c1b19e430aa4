//! Checks of the database: integrity, counters, sequences, clock skew, sessions, admins.

use std::time::Duration;

use app::{RESTORE_ADVICE, Settings};

use super::{ConsistencyCheck, Finding};
use crate::error::Error;
use crate::humanize::{count, size};

/// The tolerated skew between the clocks of this machine and the database server.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5);

/// A row dated further in the future than this means that a clock is or was wrong.
const MAX_FUTURE: Duration = Duration::from_secs(5 * 60);

/// Sessions that expired longer ago than this should have been deleted: the service sweeps every minute.
const SWEEP_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

const FIX_ADVICE: &str = "Stop the service and run `pinhole doctor --fix`.";

impl ConsistencyCheck<'_> {
    pub(super) async fn integrity(&self) -> Result<Finding, Error> {
        let errors = self.instance.store.integrity_errors().await?;
        let version = self.instance.store.schema_version();
        if errors.is_empty() {
            return Ok(Finding::ok("database", format!("schema version {version}, integrity check passed")));
        }
        let what = format!("the database is damaged: {}", errors.join("; "));
        Ok(Finding::error("database", what).advice(RESTORE_ADVICE))
    }

    pub(super) async fn contents(&self) -> Result<Finding, Error> {
        let counts = self.instance.store.table_counts().await?;
        let totals = self.instance.store.photo_totals().await?;
        let what = format!(
            "{}, {}, {} ({}), {}, {}",
            count(counts.users, "user"),
            count(counts.posts, "post"),
            count(counts.photos, "photo"),
            size(totals.bytes),
            count(counts.likes, "like"),
            count(counts.sessions, "session")
        );
        Ok(Finding::ok("contents", what))
    }

    pub(super) async fn clock(&self) -> Result<Finding, Error> {
        let (now, newest) = (self.now, self.instance.store.newest_timestamp().await?);
        if newest.since(now) > MAX_FUTURE {
            let what = format!("the clock of this machine is at {now}, but the newest row is dated {newest}");
            return Ok(Finding::error("clock", what).advice(
                "Synchronise the clock, for example by NTP. If it was ahead before and is right now, wait.",
            ));
        }
        let Some(database_now) = self.instance.store.clock().await? else {
            return Ok(Finding::ok("clock", format!("it is {now}, and no row is newer")));
        };
        if now.since(database_now).max(database_now.since(now)) > MAX_CLOCK_SKEW {
            let what =
                format!("the clock of this machine is at {now}, that of the database at {database_now}");
            return Ok(Finding::error("clock", what)
                .advice("Synchronise the clocks of all nodes, for example by NTP."));
        }
        Ok(Finding::ok("clock", format!("it is {now}, on this machine and at the database")))
    }

    pub(super) async fn likes(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let miscounted = store.miscounted_posts().await?;
        if miscounted.is_empty() {
            return Ok(Finding::ok("likes", "the like count of every post is right"));
        }
        let fixed = if self.fix {
            Some(format!("recounted: {}", count(store.recount_likes().await? as u64, "post")))
        } else {
            None
        };
        let posts = miscounted.iter().map(|miscount| {
            format!("post {} counts {}, has {}", miscount.post, miscount.like_count, miscount.likes)
        });
        Ok(Finding::error("likes", "the like counts of some posts are wrong")
            .with_names(posts)
            .fixed_or(fixed, FIX_ADVICE))
    }

    pub(super) async fn ids(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let lagging = store.lagging_sequences().await?;
        if lagging.is_empty() {
            return Ok(Finding::ok("ids", "the sequences are ahead of all rows"));
        }
        let fixed = if self.fix {
            Some(format!("advanced: {}", count(store.fix_sequences().await? as u64, "table")))
        } else {
            None
        };
        let what = "the next id of a sequence is already used, so inserts fail";
        Ok(Finding::error("ids", what).with_names(lagging).fixed_or(fixed, FIX_ADVICE))
    }

    pub(super) async fn sessions(&self) -> Result<Finding, Error> {
        let store = &self.instance.store;
        let expired_before = self.now.minus(self.session_idle).minus(SWEEP_GRACE);
        let overdue = store.overdue(self.cutoff(), expired_before).await?.sessions;
        if overdue == 0 {
            return Ok(Finding::ok("sessions", "no expired session is left to delete"));
        }
        let mut fixed = None;
        if self.fix {
            let swept = store
                .sweep(self.now, self.session_idle, Settings::SESSION_AGE, Settings::IDEMPOTENCY_KEY_TTL)
                .await?;
            fixed = Some(format!("deleted: {swept} sessions and idempotency keys"));
        }
        let what = format!("{overdue} expired over a day ago and were not deleted");
        Ok(Finding::note("sessions", what).fixed_or(fixed, "The service deletes them when it starts."))
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
                0 => "none is configured".to_owned(),
                1 => "one is configured, and has an account".to_owned(),
                several => format!("{several} are configured, and all have accounts"),
            };
            return Ok(Finding::ok("admins", what));
        }
        Ok(Finding::error(
            "admins",
            "some have no account, and the service refuses to create one under a name of an admin",
        )
        .with_names(unknown)
        .advice("Remove them from `admins` and restart the service; list them again once they have joined."))
    }

    pub(super) async fn unreferenced_photos(&self) -> Result<Finding, Error> {
        let unreferenced = self.instance.store.unreferenced_photos().await?;
        if unreferenced.is_empty() {
            return Ok(Finding::ok("shown", "every photo belongs to a post or is a profile photo"));
        }
        Ok(Finding::error("shown", "photos that belong to no post and are no profile photo")
            .with_names(unreferenced)
            .advice("This is a bug in Pinhole: keep a backup, and report it."))
    }
}
