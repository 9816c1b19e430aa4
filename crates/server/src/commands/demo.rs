//! `pinhole demo`: runs a temporary instance until SIGTERM or SIGINT.

use std::process::ExitCode;

use crate::banner::print_banner;
use crate::commands::reload::reload;
use crate::config::LoadedConfig;
use crate::demo::{Demo, DemoError};
use crate::process::{Signals, fail, run_service};
use crate::telemetry::LogFilter;

/// Settings that contradict a temporary folder; given as flags, they are an error.
const STORAGE_SETTINGS: [&str; 2] = ["data_dir", "blobs_url"];

pub(super) fn run(loaded: &LoadedConfig) -> ExitCode {
    if let Some(key) = STORAGE_SETTINGS.into_iter().find(|key| loaded.is_flag(key)) {
        return fail(loaded.invalid(
            key,
            "a demo uses a temporary folder and deletes it on exit; omit this flag, \
             or run `pinhole serve` to keep the data",
        ));
    }
    run_service(&loaded.config, |log| demo(loaded, log))
}

async fn demo(loaded: &LoadedConfig, log: LogFilter) -> Result<(), DemoError> {
    // Before the folder is created: from then on every signal that ends the demo, but SIGKILL, deletes it.
    let signals = Signals::listen_with_hangup();
    let demo = Demo::start(loaded.config.clone(), loaded.is_given("listen")).await?;
    print_banner(demo.config(), demo.service(), Some(demo.guest()));
    signals.wait_and_reload(|| reload(loaded, &log)).await;
    tracing::info!("shutting down; draining requests in progress");
    demo.stop().await?;
    tracing::info!("stopped; demo data deleted");
    Ok(())
}
