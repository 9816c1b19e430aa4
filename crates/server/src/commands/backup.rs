//! `pinhole backup`: writes an archive, or verifies one. Reports go to stderr, because stdout may be the
//! archive.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use app::OpenError;
use clap::error::ErrorKind;
use clap::{Args, Subcommand};
use model::Clock;
use ops::{ArchiveError, Destination, Instance, Progress};

use super::archive::{self, UnreadableArchive, summary};
use super::instance::location;
use crate::config::Config;
use crate::process::{run, run_until_signal};
use crate::progress::ProgressBar;

/// Skipped photos that are listed one by one.
const LISTED: usize = 20;

#[derive(Debug, PartialEq, Eq, Args)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct BackupArgs {
    /// The file to write; `-` for the output
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Leave out photos whose bytes are missing, with their posts
    #[arg(long)]
    skip_missing: bool,
    #[command(subcommand)]
    command: Option<BackupCommand>,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
enum BackupCommand {
    /// Read a backup to its end and name whatever is damaged; nothing is restored for that
    Verify {
        /// The file to read; `-` for the input
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
    #[error("{} is not a whole backup:\n  {}\nKeep it only if you have no better one.", path.display(), lines(damage))]
    Damaged { path: PathBuf, damage: Vec<ArchiveError> },
    #[error("it was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl BackupArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { file, force, skip_missing, command } = self;
        match (command, file) {
            (Some(BackupCommand::Verify { file }), _) => run(verify(&file)),
            (None, Some(file)) => run_until_signal(
                back_up(config, &file, force, skip_missing),
                "There is no backup; a file that ends with .partial is overwritten by the next attempt.",
            ),
            (None, None) => clap::Error::new(ErrorKind::MissingRequiredArgument).exit(),
        }
    }
}

async fn back_up(config: &Config, file: &Path, force: bool, skip_missing: bool) -> Result<(), BackupError> {
    let instance = Instance::open_read_only(&location(config)).await?;
    let to = if archive::is_pipe(file) {
        Destination::Stdout
    } else {
        Destination::File { path: file.to_owned(), force }
    };
    let progress = Arc::new(ProgressBar::new());
    let manifest = instance.back_up(to, skip_missing, Clock::system().now(), progress.clone()).await?;
    progress.finish();
    for (photos, reason) in [
        (&manifest.deleted_meanwhile, "was deleted while the backup was written, and is not in it"),
        (&manifest.missing, "has no bytes, and is not in the backup"),
    ] {
        for photo in photos.iter().take(LISTED) {
            progress.note(&format!("photo {photo} {reason}"));
        }
        if photos.len() > LISTED {
            progress.note(&format!("and {} more, listed in `manifest.json`", photos.len() - LISTED));
        }
    }
    progress.note(&format!("{}: {}", file.display(), summary(&manifest)));
    Ok(())
}

async fn verify(file: &Path) -> Result<(), BackupError> {
    let from = archive::open(file)?;
    let verified = tokio::task::spawn_blocking(move || ops::verify(from, &ProgressBar::new())).await?;
    let manifest = verified.map_err(|damage| BackupError::Damaged { path: file.to_owned(), damage })?;
    eprintln!("{}: whole, {}", file.display(), summary(&manifest));
    Ok(())
}

fn lines(damage: &[ArchiveError]) -> String {
    damage.iter().map(ArchiveError::to_string).collect::<Vec<_>>().join("\n  ")
}
