//! `pinhole serve`: runs the service until it is asked to stop.

use std::process::ExitCode;

use model::Clock;

use crate::banner::announce;
use crate::config::Config;
use crate::process::{Signals, run_service};
use crate::service::{Service, StartError};

pub(super) fn run(config: &Config) -> ExitCode {
    run_service(config, serve(config))
}

async fn serve(config: &Config) -> Result<(), StartError> {
    // Before the banner: a supervisor that reads "ready" may send a signal at once.
    let signals = Signals::listen();
    let service = Service::start(config, Clock::system()).await?;
    announce(config, &service, None);
    signals.wait().await;
    tracing::info!("stopping: finishing requests in progress");
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}
