//! A throw-away instance, filled with people, photos and likes, that deletes its folder when it stops.
//!
//! What it is filled with is in `demo/` at the root, embedded here.

mod cast;
mod credits;
mod error;
mod fill;
mod photos;

use std::io;
use std::time::Duration;

use model::Clock;
use tempfile::TempDir;

use crate::config::Config;
use crate::service::{Service, StartError};
use cast::Cast;

pub(crate) use cast::Guest;
pub(crate) use credits::credits;
pub(crate) use error::DemoError;

/// The accounts are a day older than the first post.
const BEFORE_THE_FIRST_POST: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(crate) struct Demo {
    service: Service,
    config: Config,
    guest: Guest,
    folder: TempDir,
}

impl Demo {
    /// Takes a free port when that of `config` is taken, unless the operator chose it (`port_is_given`).
    pub(crate) async fn start(mut config: Config, port_is_given: bool) -> Result<Self, DemoError> {
        let cast = Cast::embedded()?;
        let guest = cast.guest()?;
        let folder = tempfile::Builder::new().prefix("pinhole-demo-").tempdir().map_err(DemoError::Folder)?;
        config.data_dir = folder.path().to_owned();
        // Photos that are deleted at the end must not be among those that are kept.
        config.blobs_url = None;
        // Whatever the environment says, the rows of a demo go into its own folder.
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
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    pub(crate) fn guest(&self) -> &Guest {
        &self.guest
    }

    pub(crate) async fn stop(self) -> Result<(), DemoError> {
        self.service.stop().await;
        let path = self.folder.path().to_owned();
        self.folder.close().map_err(|cause| DemoError::Remove { path, cause })
    }
}

/// The clock begins in the past and is advanced while the demo is filled, so that posts have different times.
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
