//! Logging: text or JSON lines on stderr.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config::{Config, LogFormat};

/// Whether the log is text, not JSON.
pub(crate) fn is_text(config: &Config) -> bool {
    match config.log_format {
        LogFormat::Auto => stderr().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    }
}

fn wants_colour() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

/// Validates the filter directives of `log`.
pub(crate) fn check(config: &Config) -> Result<(), ParseError> {
    config.log.parse::<Targets>().map(drop)
}

pub(crate) fn start(config: &Config) -> Result<(), ParseError> {
    let filter: Targets = config.log.parse()?;
    let lines = if is_text(config) {
        fmt::layer().with_writer(stderr).with_target(false).with_ansi(wants_colour()).boxed()
    } else {
        fmt::layer()
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .with_writer(stderr)
            .with_target(false)
            .boxed()
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(())
}
