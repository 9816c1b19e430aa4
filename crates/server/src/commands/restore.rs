//! `pinhole restore`: restores an archive into an empty instance.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use app::OpenError;
use clap::Args;
use model::Clock;
use ops::{Instance, Progress};

use super::archive::{self, UnreadableArchive, summary};
use super::instance::location;
use crate::config::Config;
use crate::process::run_until_signal;
use crate::progress::ProgressBar;

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct RestoreArgs {
    /// The file to read; `-` for the input
    file: PathBuf,
}

#[derive(Debug, thiserror::Error)]
enum RestoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Tool(#[from] ops::Error),
    #[error(transparent)]
    Unreadable(#[from] UnreadableArchive),
}

impl RestoreArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run_until_signal(
            restore(config, &self.file),
            "Nothing is visible yet: run it again, and it continues where it was stopped.",
        )
    }
}

async fn restore(config: &Config, file: &Path) -> Result<(), RestoreError> {
    let from = archive::open(file)?;
    let location = location(config);
    let instance = Instance::open_exclusive(&location).await?;
    let progress = Arc::new(ProgressBar::new());
    let restored = instance.restore(from, &Clock::system(), progress.clone()).await?;
    progress.finish();
    if restored.already_present > 0 {
        progress.note(&format!("{} photos were there from an earlier attempt", restored.already_present));
    }
    progress.note(&format!("restored into {}: {}", location.database, summary(&restored.manifest)));
    Ok(())
}
