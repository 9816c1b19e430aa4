//! `pinhole doctor`: what the examination found, for people and for machines.

mod settings;

use app::OpenError;
use model::Clock;
use ops::{Examination, Finding, Instance, InstanceLocation, Level};

use crate::config::Config;
use crate::moving::places;
use crate::progress::{Shown, Silence};

/// What was found, as it is to be printed.
#[derive(Debug)]
pub struct Report {
    findings: Vec<Finding>,
}

pub async fn examine(config: &Config, fix: bool, json: bool) -> Report {
    let mut findings = settings::examine(config);
    match open(&places(config), fix).await {
        Ok(instance) => {
            let examination = Examination {
                instance: &instance,
                data_dir: &config.data_dir,
                replica: config.database_read_url.as_ref(),
                now: Clock::system().now(),
                session_idle: config.session_idle,
                cache_disk: config.cache_disk,
                admins: &config.admins,
                fix,
            };
            if json {
                findings.extend(examination.run(&Silence).await);
            } else {
                let shown = Shown::new();
                findings.extend(examination.run(&shown).await);
                shown.end();
            }
        }
        Err(error) => findings.push(unopened(&error)),
    }
    Report { findings }
}

/// Opened read-only first even for a fix: an instance that is missing must not be created.
async fn open(places: &InstanceLocation, fix: bool) -> Result<Instance, OpenError> {
    let looked_at = Instance::open_read_only(places).await?;
    if !fix {
        return Ok(looked_at);
    }
    drop(looked_at);
    Instance::open_exclusive(places).await
}

/// The first line says what is wrong, the others what to do.
fn unopened(error: &OpenError) -> Finding {
    let words = error.to_string();
    let (what, advice) = words.split_once('\n').unwrap_or((&words, ""));
    let finding = Finding::problem("open", what);
    if advice.is_empty() { finding } else { finding.advice(advice.replace('\n', " ")) }
}

impl Report {
    pub fn is_healthy(&self) -> bool {
        !self.findings.iter().any(Finding::is_open)
    }

    /// One line for each finding, and one for all.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let mark = match (finding.level, &finding.fixed) {
                (Level::Ok, _) => "ok",
                (_, Some(_)) => "fixed",
                (Level::Note, None) => "note",
                (Level::Problem, None) => "PROBLEM",
            };
            let rest = finding.fixed.as_ref().or(finding.advice.as_ref());
            let rest = rest.map(|rest| format!(". {rest}")).unwrap_or_default();
            text += &format!("{mark:7}  {:8}  {}{rest}\n", finding.check, finding.what);
        }
        let open = self.findings.iter().filter(|finding| finding.is_open()).count();
        text += match open {
            0 => "All is well.\n",
            _ => "Not all is well: see what is marked PROBLEM.\n",
        };
        text
    }

    pub fn to_json(&self) -> String {
        serde_json::json!({ "healthy": self.is_healthy(), "findings": self.findings }).to_string() + "\n"
    }
}
