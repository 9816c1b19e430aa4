//! A throw-away instance, filled with people, photos and likes, that deletes its folder when it stops.
//!
//! What it is filled with is in `demo/` at the root, embedded here.

mod cast;
mod credits;
mod fill;
mod photos;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use model::Clock;
use tempfile::TempDir;

use crate::config::Config;
use crate::{Service, StartError};
use cast::Cast;

pub(crate) use credits::credits;

/// Nobody posts in the minute they join.
const BEFORE_THE_FIRST_POST: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub struct Demo {
    service: Service,
    config: Config,
    guest: Guest,
    folder: TempDir,
}

/// Whom visitors may sign in as.
#[derive(Debug, Clone)]
pub struct Guest {
    pub username: String,
    pub password: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("cannot make a temporary folder: {0}\nPoint TMPDIR to a folder this user may write to.")]
    Folder(io::Error),
    #[error("demo/cast.toml: {0}")]
    Cast(String),
    #[error("the demo could not be filled: {deed}: {cause}")]
    Fill { deed: String, cause: app::Error },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot remove the demo's folder {}: {cause}\nPlease delete it by hand.", path.display())]
    Remove { path: PathBuf, cause: io::Error },
}

impl Demo {
    /// Takes a free port when that of `config` is taken, unless somebody asked for it (`port_is_given`).
    pub async fn start(mut config: Config, port_is_given: bool) -> Result<Self, DemoError> {
        let cast = Cast::embedded()?;
        let guest = cast.guest()?;
        let folder = tempfile::Builder::new().prefix("pinhole-demo-").tempdir().map_err(DemoError::Folder)?;
        config.data_dir = folder.path().to_owned();
        // What is thrown away at the end must not lie among what is kept.
        config.blobs_url = None;
        // Whatever else this machine is set up for: what the cast does goes into the folder, and away with it.
        (config.database_url, config.database_read_url) = (None, None);
        let service = match start(&config, &cast).await {
            Err(DemoError::Start(StartError::Listen { address, cause, .. }))
                if cause.kind() == io::ErrorKind::AddrInUse && address == config.listen && !port_is_given =>
            {
                config.listen.set_port(0);
                start(&config, &cast).await?
            }
            outcome => outcome?,
        };
        Ok(Self { service, config, guest, folder })
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    pub fn guest(&self) -> &Guest {
        &self.guest
    }

    pub async fn stop(self) -> Result<(), DemoError> {
        self.service.stop().await;
        let path = self.folder.path().to_owned();
        self.folder.close().map_err(|cause| DemoError::Remove { path, cause })
    }
}

/// The clock begins in the past and is turned while the story is told, so that everybody's posts have their time.
async fn start(config: &Config, cast: &Cast) -> Result<Service, DemoError> {
    let clock = Clock::behind(cast.span() + BEFORE_THE_FIRST_POST);
    let told = clock.clone();
    Service::start_after(config, clock, async |app| {
        fill::fill(app, &told, cast).await?;
        told.catch_up();
        Ok(())
    })
    .await
}
