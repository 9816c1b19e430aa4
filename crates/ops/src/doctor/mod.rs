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

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
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
        findings.push(check("database", self.integrity().boxed()).await);
        findings.extend(self.replica().await);
        findings.push(check("contents", self.contents().boxed()).await);
        findings.push(check("clock", self.clock().boxed()).await);
        findings.push(check("likes", self.likes().boxed()).await);
        findings.push(check("ids", self.ids().boxed()).await);
        findings.push(check("sessions", self.sessions().boxed()).await);
        findings.push(check("admins", self.admins().boxed()).await);
        findings.push(check("shown", self.shown().boxed()).await);
        // Before the files are checked: abandoned uploads have none afterwards.
        findings.push(check("uploads", self.uploads().boxed()).await);
        findings.push(check("removals", self.removals().boxed()).await);
        match self.files(progress).boxed().await {
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

/// Boxed: one future of all checks would take the compiler as long as the rest of the crate.
async fn check(name: &'static str, work: BoxFuture<'_, Result<Finding, Error>>) -> Finding {
    result(name, work.await)
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
