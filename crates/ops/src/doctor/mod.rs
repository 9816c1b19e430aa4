//! Consistency checks of an instance: its folders, its rows, and its files against its rows.
//!
//! The checks only read, so the service may be running. Fixes need the instance opened exclusively.

mod blobs;
mod checksums;
mod database;
mod finding;
mod host;
mod replica;

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use model::{Timestamp, Username};
use store::DatabaseUrl;

use crate::error::Error;
use crate::instance::Instance;
use crate::progress::Progress;

pub use finding::{Finding, Level};

/// Uploads and deletes that started within this time may still be in progress.
const IN_PROGRESS: Duration = Duration::from_secs(60 * 60);

pub struct ConsistencyCheck<'a> {
    pub instance: &'a Instance,
    /// The folder of uploads in progress and cached images; used even with PostgreSQL and a bucket.
    pub data_dir: &'a Path,
    pub replica: Option<&'a DatabaseUrl>,
    pub now: Timestamp,
    pub session_idle: Duration,
    pub cache_disk: u64,
    pub admins: &'a [Username],
    /// Fix what can be fixed without losing data. The instance must be open for writing.
    pub fix: bool,
    /// Read and verify every file of every photo.
    pub deep: bool,
}

impl ConsistencyCheck<'_> {
    /// Returns at least one finding for each check, including those that pass.
    pub async fn run(&self, progress: &dyn Progress) -> Vec<Finding> {
        let mut findings = self.host();
        findings.push(check("database", self.integrity().boxed()).await);
        findings.extend(self.replica().await);
        findings.push(check("contents", self.contents().boxed()).await);
        findings.push(check("clock", self.clock().boxed()).await);
        findings.push(check("likes", self.likes().boxed()).await);
        findings.push(check("ids", self.ids().boxed()).await);
        findings.push(check("sessions", self.sessions().boxed()).await);
        findings.push(check("admins", self.admins().boxed()).await);
        findings.push(check("shown", self.unreferenced_photos().boxed()).await);
        // Before the files are checked: with `fix` these delete the files of abandoned uploads.
        findings.push(check("uploads", self.uploads().boxed()).await);
        findings.push(check("removals", self.removals().boxed()).await);
        if self.deep {
            // Before the files are checked: with `fix` it rebuilds missing ones.
            match self.checksums(progress).boxed().await {
                Ok(all) => findings.extend(all),
                Err(error) => findings.push(result("checksum", Err(error))),
            }
        }
        match self.files(progress).boxed().await {
            Ok(both) => findings.extend(both),
            Err(error) => findings.push(result("photos", Err(error))),
        }
        findings
    }

    /// Uploads and deletes that started before this are no longer in progress.
    fn cutoff(&self) -> Timestamp {
        self.now.minus(IN_PROGRESS)
    }
}

/// Boxed, because inlining all checks into one future added 13 s to an optimised build.
async fn check(name: &'static str, work: BoxFuture<'_, Result<Finding, Error>>) -> Finding {
    result(name, work.await)
}

/// A check that could not run is an error finding.
fn result(check: &'static str, outcome: Result<Finding, Error>) -> Finding {
    outcome.unwrap_or_else(|error| {
        let message = error.to_string();
        // The first line says what is wrong, the others what to do.
        let default_advice = "Check that the database and the blob store are reachable, and run this again.";
        let (what, advice) = message.split_once('\n').unwrap_or((&message, default_advice));
        Finding::error(check, format!("the check failed: {what}")).advice(advice.replace('\n', " "))
    })
}
