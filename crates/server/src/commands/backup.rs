//! `pinhole backup`: writes an archive, or verifies one. Messages go to stderr, because stdout may be the
//! archive.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use app::OpenError;
use clap::error::ErrorKind;
use clap::{Args, Subcommand};
use model::Clock;
use ops::{ArchiveError, Destination, Instance, Progress};

use super::archive::{self, INCOMPLETE, UnreadableArchive, lost_before, posts, summary};
use super::instance::location;
use crate::config::Config;
use crate::process::{run, run_until_signal};
use crate::progress::ProgressBar;

/// The number of skipped photos that are listed one by one.
const MAX_LISTED: usize = 20;

#[derive(Debug, PartialEq, Eq, Args)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct BackupArgs {
    /// The file to write; `-` for standard output
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Accepted for scripts of a time when photos without an intact file ended a backup
    #[arg(long, hide = true)]
    skip_missing: bool,
    #[command(subcommand)]
    command: Option<BackupCommand>,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
enum BackupCommand {
    /// Verify every checksum of a backup and list what is damaged; writes nothing
    Verify {
        /// The file to read; `-` for standard input
        file: PathBuf,
    },
}

#[derive(Debug, thiserror::Error)]
enum BackupError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Tool(#[from] ops::Error),
    #[error(transparent)]
    Unreadable(#[from] UnreadableArchive),
    #[error("{} failed verification:\n  {}\nKeep it only if you have no other backup.", path.display(), lines(damage))]
    Damaged { path: PathBuf, damage: Vec<ArchiveError> },
    #[error("the verification task failed: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl BackupArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { file, force, command, skip_missing: _ } = self;
        match (command, file) {
            (Some(BackupCommand::Verify { file }), _) => run(verify(&file)),
            (None, Some(file)) => run_until_signal(
                back_up(config, &file, force),
                "No backup was written; the next backup overwrites the .partial file.",
            ),
            (None, None) => clap::Error::new(ErrorKind::MissingRequiredArgument).exit(),
        }
    }
}

async fn back_up(config: &Config, file: &Path, force: bool) -> Result<ExitCode, BackupError> {
    let instance = Instance::open_read_only(&location(config)).await?;
    let to = if archive::is_stdio(file) {
        Destination::Stdout
    } else {
        Destination::File { path: file.to_owned(), force }
    };
    let progress = Arc::new(ProgressBar::new());
    let manifest = instance.back_up(to, Clock::system().now(), progress.clone()).await?;
    progress.finish();
    for (photos, reason) in [
        (&manifest.deleted_meanwhile, " was deleted during the backup, and is not in it"),
        (&manifest.missing, " has no intact file: it is not in the backup, nor is its post"),
        (&manifest.damaged, ""),
    ] {
        for photo in photos.iter().take(MAX_LISTED) {
            progress.note(&format!("photo {photo}{reason}"));
        }
        if photos.len() > MAX_LISTED {
            progress.note(&format!("and {} more, listed in `manifest.json`", photos.len() - MAX_LISTED));
        }
    }
    if !manifest.missing_posts.is_empty() {
        progress.note(&format!("not in the backup: {}", posts(&manifest.missing_posts)));
    }
    progress.note(&format!("{}: {}", file.display(), summary(&manifest)));
    if manifest.missing.is_empty() && manifest.damaged.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    progress.note("The backup is complete but for the above; `pinhole doctor --deep` lists all damage.");
    Ok(ExitCode::from(INCOMPLETE))
}

async fn verify(file: &Path) -> Result<(), BackupError> {
    let from = archive::open(file)?;
    let verified = tokio::task::spawn_blocking(move || ops::verify(from, &ProgressBar::new())).await?;
    let manifest = verified.map_err(|damage| BackupError::Damaged { path: file.to_owned(), damage })?;
    eprintln!("{}: verified, {}", file.display(), summary(&manifest));
    if let Some(lost) = lost_before(&manifest) {
        eprintln!("{lost}");
    }
    Ok(())
}

fn lines(damage: &[ArchiveError]) -> String {
    damage.iter().map(ArchiveError::to_string).collect::<Vec<_>>().join("\n  ")
}
