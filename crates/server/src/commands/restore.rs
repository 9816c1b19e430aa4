//! `pinhole restore`: restores an archive into an empty instance.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use app::OpenError;
use clap::Args;
use model::Clock;
use ops::{ArchiveError, Instance, Progress, RestoreOptions, count};

use super::archive::{self, INCOMPLETE, UnreadableArchive, lost_before, summary};
use super::instance::location;
use crate::config::Config;
use crate::process::run_until_signal;
use crate::progress::ProgressBar;

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct RestoreArgs {
    /// The file to read; `-` for standard input
    file: PathBuf,
    /// Restore what is left of a damaged archive and list the damage; exits with 3
    #[arg(long)]
    skip_damaged: bool,
    /// Restore sessions too; otherwise all users have to log in again
    #[arg(long)]
    keep_sessions: bool,
}

#[derive(Debug, thiserror::Error)]
enum RestoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{}: {error}", path.display())]
    Archive { path: PathBuf, error: ops::Error },
    #[error(transparent)]
    Tool(ops::Error),
    #[error(transparent)]
    Unreadable(#[from] UnreadableArchive),
}

impl RestoreArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { file, skip_damaged, keep_sessions } = self;
        let options = RestoreOptions { skip_damaged, keep_sessions };
        run_until_signal(restore(config, &file, options), "No rows were imported; run it again to resume.")
    }
}

async fn restore(config: &Config, file: &Path, options: RestoreOptions) -> Result<ExitCode, RestoreError> {
    let from = archive::open(file)?;
    let location = location(config);
    let instance = Instance::open_exclusive(&location).await?;
    let progress = Arc::new(ProgressBar::new());
    let restored = instance.restore(from, options, &Clock::system(), progress.clone()).await;
    let restored = restored.map_err(|error| match error {
        ops::Error::Archive(_) => RestoreError::Archive { path: file.to_owned(), error },
        other => RestoreError::Tool(other),
    })?;
    progress.finish();
    if restored.already_present > 0 {
        progress.note(&format!(
            "{} photos were already restored by an earlier attempt",
            restored.already_present
        ));
    }
    if restored.ended_sessions > 0 {
        progress.note(&format!(
            "{} not restored: all users have to log in again (--keep-sessions restores them)",
            count(restored.ended_sessions, "session")
        ));
    }
    if let Some(lost) = restored.manifest.as_ref().and_then(lost_before) {
        progress.note(&lost);
    }
    if let (Some(manifest), true) = (&restored.manifest, restored.damage.is_empty()) {
        progress.note(&format!("restored into {}: {}", location.database, summary(manifest)));
        return Ok(ExitCode::SUCCESS);
    }
    let mut left_out = 0;
    for damage in &restored.damage {
        let outcome = match damage {
            ArchiveError::Repaired(_) => "repaired",
            ArchiveError::InvalidRow { .. } => {
                left_out += 1;
                "left out"
            }
            _ => "damaged",
        };
        progress.note(&format!("{outcome}: {damage}"));
    }
    if restored.unreferenced_photos > 0 {
        let photos = count(restored.unreferenced_photos as u64, "photo");
        progress.note(&format!("left out: {photos} that nothing refers to any more"));
    }
    let counts = restored.counts;
    progress.note(&format!(
        "restored into {}, {}: {}, {}, {} and {}",
        location.database,
        if left_out == 0 { "with every row" } else { "without what is listed above" },
        count(counts.users, "user"),
        count(counts.posts, "post"),
        count(counts.likes, "like"),
        count(counts.photos, "photo"),
    ));
    Ok(ExitCode::from(INCOMPLETE))
}
