//! A close look at a whole instance: is everything there that should be, and nothing else?
//!
//! It can be taken beside a running service, because it only reads. To mend something it has to have the instance for
//! itself.

mod bytes;
mod facts;
mod finding;
mod machine;
mod replica;

use std::path::Path;
use std::time::Duration;

use model::{Timestamp, Username};
use store::DatabaseUrl;

use crate::error::MoveError;
use crate::instance::Instance;
use crate::progress::Progress;

pub use finding::{Finding, Level};

/// What is younger may be under way; nothing that takes longer is.
const UNDER_WAY: Duration = Duration::from_secs(60 * 60);

pub struct Examination<'a> {
    pub instance: &'a Instance,
    /// Where uploads and finished images lie, wherever photos and facts are.
    pub data_dir: &'a Path,
    pub replica: Option<&'a DatabaseUrl>,
    pub now: Timestamp,
    pub session_idle: Duration,
    pub cache_disk: u64,
    pub admins: &'a [Username],
    /// Mend what can be mended without losing anything. The instance has to be open to be written to.
    pub fix: bool,
}

impl Examination<'_> {
    /// One finding for each thing that was looked at, whatever came of it.
    pub async fn run(&self, progress: &dyn Progress) -> Vec<Finding> {
        let mut findings = self.machine();
        findings.push(told("database", self.engine().await));
        findings.extend(self.replica().await);
        findings.push(told("contents", self.contents().await));
        findings.push(told("clock", self.clock().await));
        findings.push(told("likes", self.likes().await));
        findings.push(told("ids", self.ids().await));
        findings.push(told("sessions", self.sessions().await));
        findings.push(told("admins", self.admins().await));
        findings.push(told("shown", self.shown().await));
        // Before the bytes are looked at: what is given up here has none afterwards.
        findings.push(told("uploads", self.uploads().await));
        findings.push(told("removals", self.removals().await));
        match self.bytes(progress).await {
            Ok(both) => findings.extend(both),
            Err(error) => findings.push(told("photos", Err(error))),
        }
        findings
    }

    /// Before this moment everything that was begun has ended.
    fn before(&self) -> Timestamp {
        self.now.minus(UNDER_WAY)
    }
}

/// What cannot be examined is the worst finding of all.
fn told(check: &'static str, outcome: Result<Finding, MoveError>) -> Finding {
    outcome.unwrap_or_else(|error| {
        let words = error.to_string();
        // The first line says what is wrong, the others what to do.
        let usual = "See that the database and the blob store answer, and look again.";
        let (what, advice) = words.split_once('\n').unwrap_or((&words, usual));
        Finding::problem(check, format!("this cannot be examined: {what}")).advice(advice.replace('\n', " "))
    })
}
