//! `pinhole serve`: runs the service until SIGTERM or SIGINT.

use std::process::ExitCode;

use clap::Args;
use model::Clock;

use crate::banner::print_banner;
use crate::config::Config;
use crate::process::{Signals, run_service};
use crate::service::{Service, StartError};

#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct ServeArgs {
    /// Make a new, empty instance even where that looks like a mistake
    #[arg(long)]
    init: bool,
}

impl ServeArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run_service(config, serve(config, self.init))
    }
}

async fn serve(config: &Config, init: bool) -> Result<(), StartError> {
    // Before the banner: a supervisor may send a signal as soon as it reads "ready".
    let signals = Signals::listen();
    let service =
        Service::start_after(config, init, Clock::system(), async |_| Ok::<(), StartError>(())).await?;
    print_banner(config, &service, None);
    signals.wait().await;
    tracing::info!("shutting down; draining requests in progress");
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}
