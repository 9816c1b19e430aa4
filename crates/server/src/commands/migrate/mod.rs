//! `pinhole migrate`: migrates an instance to another database, another blob store, or both.

mod parser;
mod target;

use std::marker::PhantomData;
use std::process::ExitCode;
use std::sync::Arc;

use app::{BucketUrl, DatabaseUrl, OpenError};
use clap::{ArgGroup, Args};
use model::Clock;
use ops::{Instance, InstanceLocation, MigrateReport, Mode, Progress, StorageLocation, count, size};

use super::instance::location;
use crate::config::Config;
use crate::process::run_until_signal;
use crate::progress::ProgressBar;
use parser::{FromArgument, FromFile};

type Database = StorageLocation<DatabaseUrl>;
type Blobs = StorageLocation<BucketUrl>;

#[derive(Debug, PartialEq, Eq, Args)]
#[command(group(ArgGroup::new("target").required(true).multiple(true)), group(ArgGroup::new("step")))]
pub(crate) struct MigrateArgs {
    /// The new location of the rows
    #[arg(long, value_name = "LOCATION", value_parser = FromArgument::<Database>(PhantomData), group = "target")]
    to_database: Option<Database>,
    /// The same, read from a file: hides a password from other users
    #[arg(long, value_name = "FILE", value_parser = FromFile::<Database>(PhantomData), group = "target", conflicts_with = "to_database")]
    to_database_file: Option<Database>,
    /// The new location of the photos
    #[arg(long, value_name = "LOCATION", value_parser = FromArgument::<Blobs>(PhantomData), group = "target")]
    to_blobs: Option<Blobs>,
    /// Print what would be copied; write nothing
    #[arg(long, group = "step")]
    dry_run: bool,
    /// Copy the remaining photos and all rows; the service must be stopped
    #[arg(long, group = "step")]
    finish: bool,
    /// Compare every row and every byte; write nothing
    #[arg(long, group = "step")]
    verify: bool,
}

#[derive(Debug, thiserror::Error)]
enum MigrateError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{}", target::message(.0))]
    Target(OpenError),
    #[error(transparent)]
    Tool(#[from] ops::Error),
}

impl MigrateArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run_until_signal(self.migrate(config), "The old locations are unchanged; run it again to resume.")
    }

    async fn migrate(self, config: &Config) -> Result<(), MigrateError> {
        let mode = self.mode();
        let from = location(config);
        let to = InstanceLocation {
            database: self.to_database.or(self.to_database_file).unwrap_or_else(|| from.database.clone()),
            blobs: self.to_blobs.unwrap_or_else(|| from.blobs.clone()),
            s3_config: from.s3_config.clone(),
        };
        to.ensure_disjoint(&from)?;
        let progress = Arc::new(ProgressBar::new());
        for (end, location) in [("from:", &from), ("to:  ", &to)] {
            progress.note(&format!("{end} rows in {}, photos in {}", location.database, location.blobs));
        }
        match mode {
            Some(mode) => migrate(&from, &to, mode, progress).await,
            None => dry_run(&from, &to, &progress).await,
        }
    }

    /// `None` for a dry run.
    fn mode(&self) -> Option<Mode> {
        match self {
            Self { dry_run: true, .. } => None,
            Self { finish: true, .. } => Some(Mode::Finish),
            Self { verify: true, .. } => Some(Mode::Verify),
            _ => Some(Mode::Copy),
        }
    }
}

async fn migrate(
    from: &InstanceLocation,
    to: &InstanceLocation,
    mode: Mode,
    progress: Arc<ProgressBar>,
) -> Result<(), MigrateError> {
    // Only the last step copies rows, so only it needs a source that is not written to.
    let source = match mode {
        Mode::Finish => Instance::lock(from).await?,
        Mode::Copy | Mode::Verify => Instance::open_read_only(from).await?,
    };
    let target = match mode {
        Mode::Verify => Instance::open_read_only(to).await,
        Mode::Copy | Mode::Finish => Instance::open_exclusive_beside(to, from).await,
    };
    let target = target.map_err(MigrateError::Target)?;
    let report = ops::migrate(&source, &target, mode, &Clock::system(), progress.clone()).await?;
    progress.finish();
    match mode {
        Mode::Copy if report.photos == 0 => {
            progress.note("There are no photos to copy. Stop the service, then run this with --finish.");
        }
        Mode::Copy => {
            progress.note(&format!("{}; existing copies were compared byte by byte", copied(&report)));
            progress
                .note("Repeat this as often as you like. Then stop the service, and run this with --finish.");
        }
        Mode::Finish => {
            progress.note(&finished(&report));
            if report.orphans > 0 {
                progress.note(&format!(
                    "orphans at the destination: {}, probably deleted after they were copied; \
                     `pinhole doctor --fix` with the new settings deletes those older than an hour.",
                    count(report.orphans, "photo")
                ));
            }
            progress.note("The old locations are unchanged. Start the service with these settings:");
            for setting in target::settings(to) {
                progress.note(&format!("  {setting}"));
            }
        }
        Mode::Verify => progress.note(&format!(
            "compared: {} and {} are identical in both locations",
            count(report.photos, "photo"),
            count(report.rows, "row")
        )),
    }
    Ok(())
}

fn copied(report: &MigrateReport) -> String {
    format!("{} of {} copied ({})", report.copied, count(report.photos, "photo"), size(report.bytes))
}

/// Omits photos or rows if there were none to migrate.
fn finished(report: &MigrateReport) -> String {
    let outcome =
        if report.rows_already_present { "already imported, and identical" } else { "imported and compared" };
    let rows = (report.rows > 0).then(|| format!("{} {outcome}", count(report.rows, "row")));
    let photos = (report.photos > 0).then(|| copied(report));
    let parts: Vec<String> = [photos, rows].into_iter().flatten().collect();
    if parts.is_empty() { "there is nothing to migrate".to_owned() } else { parts.join("; ") }
}

async fn dry_run(
    from: &InstanceLocation,
    to: &InstanceLocation,
    progress: &ProgressBar,
) -> Result<(), MigrateError> {
    let source = Instance::open_read_only(from).await?;
    let target = match Instance::open_read_only(to).await {
        Ok(target) => Some(target),
        Err(OpenError::Missing(_)) => None,
        Err(error) => return Err(MigrateError::Target(error)),
    };
    let plan = ops::plan(&source, target.as_ref(), progress).await?;
    progress.finish();
    progress.note(&format!(
        "{} ({}), {}, {}, {}",
        count(plan.photos, "photo"),
        size(plan.bytes),
        count(plan.counts.users, "user"),
        count(plan.counts.posts, "post"),
        count(plan.counts.likes, "like")
    ));
    progress.note(&format!(
        "{} photos already copied, {} to copy ({})",
        plan.already_copied,
        plan.photos - plan.already_copied,
        size(plan.bytes - plan.bytes_already_copied)
    ));
    if target.is_none() {
        progress.note("the destination has no database yet; it will be created");
    }
    if plan.missing.is_empty() {
        return Ok(());
    }
    Err(ops::Error::missing(plan.missing, plan.photos).into())
}
