//! `pinhole demo`: runs a throw-away instance until it is asked to stop.

use std::process::ExitCode;

use crate::banner::announce;
use crate::config::{Config, Loaded};
use crate::demo::{Demo, DemoError};
use crate::process::{Signals, fail, run_service};

/// Flags that contradict a temporary folder.
const LOCATIONS: [&str; 2] = ["data_dir", "blobs_url"];

pub(super) fn run(loaded: &Loaded) -> ExitCode {
    if let Some(key) = LOCATIONS.into_iter().find(|key| loaded.is_flag(key)) {
        return fail(loaded.refuse(
            key,
            "a demo has a temporary folder of its own and deletes it at the end; leave this out, \
             or keep what people post with `pinhole serve`",
        ));
    }
    run_service(&loaded.config, demo(loaded.config.clone(), loaded.is_given("listen")))
}

async fn demo(config: Config, port_is_given: bool) -> Result<(), DemoError> {
    // Before the folder is created: from then on only a kill leaves it behind.
    let signals = Signals::listen();
    let demo = Demo::start(config, port_is_given).await?;
    announce(demo.config(), demo.service(), Some(demo.guest()));
    signals.wait().await;
    tracing::info!("stopping: finishing requests in progress");
    demo.stop().await?;
    tracing::info!("stopped, and everything is deleted");
    Ok(())
}
