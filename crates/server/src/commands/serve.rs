//! `pinhole serve`: runs the service until SIGTERM or SIGINT.

use std::process::ExitCode;

use clap::Args;
use model::Clock;

use crate::banner::print_banner;
use crate::commands::reload::reload;
use crate::config::LoadedConfig;
use crate::process::{Signals, run_service};
use crate::service::{Service, StartError};
use crate::telemetry::LogFilter;

#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct ServeArgs {
    /// Make a new, empty instance even where that looks like a mistake
    #[arg(long)]
    init: bool,
}

impl ServeArgs {
    pub(super) fn run(self, loaded: &LoadedConfig) -> ExitCode {
        run_service(&loaded.config, |log| serve(loaded, self.init, log))
    }
}

async fn serve(loaded: &LoadedConfig, init: bool, log: LogFilter) -> Result<(), StartError> {
    // Before the banner: a supervisor may send a signal as soon as it reads "ready".
    let signals = Signals::listen_with_hangup();
    let config = &loaded.config;
    let service =
        Service::start_after(config, init, Clock::system(), async |_| Ok::<(), StartError>(())).await?;
    print_banner(config, &service, None);
    signals.wait_and_reload(|| reload(loaded, &log)).await;
    tracing::info!("shutting down; draining requests in progress");
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}
