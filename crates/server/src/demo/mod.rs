//! The demo: a temporary instance with sample users, photos and likes, which deletes its folder when it
//! stops.
//!
//! The seed data is in `demo/` at the root of the repository, and embedded in the binary.

mod credits;
mod error;
mod photos;
mod seed;
mod seed_data;

use std::io;
use std::time::Duration;

use model::Clock;
use tempfile::TempDir;

use crate::config::Config;
use crate::service::{Service, StartError};
use seed_data::SeedData;

pub(crate) use credits::credits;
pub(crate) use error::DemoError;
pub(crate) use seed_data::Guest;

/// The time between the creation of the accounts and the first post.
const ACCOUNT_LEAD_TIME: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(crate) struct Demo {
    service: Service,
    config: Config,
    guest: Guest,
    folder: TempDir,
}

impl Demo {
    /// Uses a free port if that of `config` is in use, unless the operator set it (`port_is_given`).
    pub(crate) async fn start(mut config: Config, port_is_given: bool) -> Result<Self, DemoError> {
        let data = SeedData::embedded()?;
        let guest = data.guest()?;
        let folder = tempfile::Builder::new().prefix("pinhole-demo-").tempdir().map_err(DemoError::Folder)?;
        config.data_dir = folder.path().to_owned();
        // A demo never writes to a configured bucket or database.
        config.blobs_url = None;
        (config.database_url, config.database_read_url) = (None, None);
        let service = match start(&config, &data).await {
            Err(DemoError::Start(StartError::Listen { address, cause, .. }))
                if cause.kind() == io::ErrorKind::AddrInUse && address == config.listen && !port_is_given =>
            {
                config.listen.set_port(0);
                start(&config, &data).await?
            }
            outcome => outcome?,
        };
        Ok(Self { service, config, guest, folder })
    }

    /// The effective settings.
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

/// The clock starts in the past and advances while the demo is seeded, so that posts have different times.
async fn start(config: &Config, data: &SeedData) -> Result<Service, DemoError> {
    let clock = Clock::behind(data.oldest_age() + ACCOUNT_LEAD_TIME);
    let seed_clock = clock.clone();
    Service::start_after(config, true, clock, async |app| {
        seed::seed(app, &seed_clock, data).await?;
        seed_clock.catch_up();
        Ok(())
    })
    .await
}
