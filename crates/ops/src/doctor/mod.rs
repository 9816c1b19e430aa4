//! Consistency checks of a whole instance: settings of the host, rows, and files against rows.
//!
//! The checks only read, so they can run beside a service. Fixes need the instance opened exclusively.

mod blobs;
mod database;
mod finding;
mod host;
mod replica;

use std::path::Path;
use std::time::Duration;

use model::{Timestamp, Username};
use store::DatabaseUrl;

use crate::error::Error;
use crate::instance::Instance;
use crate::progress::Progress;

pub use finding::{Finding, Level};

/// Uploads and deletes younger than this may be in progress.
const IN_PROGRESS: Duration = Duration::from_secs(60 * 60);

pub struct Examination<'a> {
    pub instance: &'a Instance,
    /// Holds uploads in progress and cached images, wherever the database and the photos are.
    pub data_dir: &'a Path,
    pub replica: Option<&'a DatabaseUrl>,
    pub now: Timestamp,
    pub session_idle: Duration,
    pub cache_disk: u64,
    pub admins: &'a [Username],
    /// Fix what can be fixed without losing data. The instance has to be open for writing.
    pub fix: bool,
}

impl Examination<'_> {
    /// One finding for each check, whatever its result.
    pub async fn run(&self, progress: &dyn Progress) -> Vec<Finding> {
        let mut findings = self.host();
        findings.push(result("database", self.integrity().await));
        findings.extend(self.replica().await);
        findings.push(result("contents", self.contents().await));
        findings.push(result("clock", self.clock().await));
        findings.push(result("likes", self.likes().await));
        findings.push(result("ids", self.ids().await));
        findings.push(result("sessions", self.sessions().await));
        findings.push(result("admins", self.admins().await));
        findings.push(result("shown", self.shown().await));
        // Before the files are checked: abandoned uploads have none afterwards.
        findings.push(result("uploads", self.uploads().await));
        findings.push(result("removals", self.removals().await));
        match self.files(progress).await {
            Ok(both) => findings.extend(both),
            Err(error) => findings.push(result("photos", Err(error))),
        }
        findings
    }

    /// Whatever began before this has ended.
    fn cutoff(&self) -> Timestamp {
        self.now.minus(IN_PROGRESS)
    }
}

/// A check that fails is a problem itself.
fn result(check: &'static str, outcome: Result<Finding, Error>) -> Finding {
    outcome.unwrap_or_else(|error| {
        let message = error.to_string();
        // The first line says what is wrong, the others what to do.
        let usual = "See that the database and the blob store answer, and run it again.";
        let (what, advice) = message.split_once('\n').unwrap_or((&message, usual));
        Finding::problem(check, format!("this cannot be examined: {what}")).advice(advice.replace('\n', " "))
    })
}
