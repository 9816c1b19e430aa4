//! `pinhole doctor`: runs all consistency checks and prints their findings as text or JSON.

mod settings;

use std::process::ExitCode;

use app::OpenError;
use clap::Args;
use model::Clock;
use ops::{ConsistencyCheck, Finding, Instance, InstanceLocation, Level};

use super::instance::location;
use crate::config::Config;
use crate::process::{block_on, fail, print};
use crate::progress::{NoProgress, ProgressBar};

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct DoctorArgs {
    /// Fix what can be fixed without losing data; the service must be stopped
    #[arg(long)]
    fix: bool,
    /// Verify the checksum of every photo file; with --fix, rebuild what is damaged
    #[arg(long)]
    deep: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

struct Report {
    findings: Vec<Finding>,
}

impl DoctorArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let report = match block_on(self.check(config)) {
            Ok(report) => report,
            Err(error) => return fail(error),
        };
        let printed = print(&if self.json { report.to_json() } else { report.to_text() });
        if report.is_healthy() { printed } else { ExitCode::FAILURE }
    }

    async fn check(&self, config: &Config) -> Report {
        let mut findings = settings::check(config);
        match open(&location(config), self.fix).await {
            Ok(instance) => {
                let check = ConsistencyCheck {
                    instance: &instance,
                    data_dir: &config.data_dir,
                    replica: config.database_read_url.as_ref(),
                    now: Clock::system().now(),
                    session_idle: config.session_idle,
                    cache_disk: config.cache_disk,
                    admins: &config.admins,
                    fix: self.fix,
                    deep: self.deep,
                };
                findings.extend(match self.json {
                    true => check.run(&NoProgress).await,
                    false => check.run(&ProgressBar::new()).await,
                });
            }
            Err(error) => findings.push(open_failed(&error)),
        }
        Report { findings }
    }
}

/// Opened read-only first even for a fix, because `open_exclusive` would create a missing instance.
async fn open(location: &InstanceLocation, fix: bool) -> Result<Instance, OpenError> {
    let read_only = Instance::open_read_only(location).await?;
    if !fix {
        return Ok(read_only);
    }
    drop(read_only);
    Instance::open_exclusive(location).await
}

/// The first line says what is wrong, the others what to do.
fn open_failed(error: &OpenError) -> Finding {
    let message = error.to_string();
    let (what, advice) = message.split_once('\n').unwrap_or((&message, ""));
    let finding = Finding::error("open", what);
    if advice.is_empty() { finding } else { finding.advice(advice.replace('\n', " ")) }
}

impl Report {
    fn is_healthy(&self) -> bool {
        !self.findings.iter().any(Finding::is_unresolved)
    }

    /// One line for each finding, and a summary.
    fn to_text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let mark = match (finding.level, &finding.fixed) {
                (Level::Ok, _) => "ok",
                (_, Some(_)) => "fixed",
                (Level::Note, None) => "note",
                (Level::Error, None) => "PROBLEM",
            };
            let rest = finding.fixed.as_ref().or(finding.advice.as_ref());
            let rest = rest.map(|rest| format!(". {rest}")).unwrap_or_default();
            text += &format!("{mark:7}  {:8}  {}{rest}\n", finding.check, finding.what);
        }
        text += if self.is_healthy() {
            "No problems found.\n"
        } else {
            "Problems found: see the lines marked PROBLEM.\n"
        };
        text
    }

    fn to_json(&self) -> String {
        serde_json::json!({ "healthy": self.is_healthy(), "findings": self.findings }).to_string() + "\n"
    }
}
