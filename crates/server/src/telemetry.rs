//! Logging: text or JSON lines on stderr.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;

use parking_lot::RwLock;
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber, callsite};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::format::{DefaultFields, Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config::{Config, LogFormat};
use crate::http::middleware::request_log::request_id;

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

pub(crate) fn start(config: &Config) -> Result<LogFilter, ParseError> {
    let filter = LogFilter(Arc::new(RwLock::new(config.log.parse()?)));
    // Not reported on stderr itself, which panics once a terminal is gone.
    let lines = fmt::layer().log_internal_errors(false).with_writer(stderr).with_target(false);
    let lines = if is_text(config) {
        lines.with_ansi(wants_colour()).fmt_fields(TextFields(DefaultFields::new())).boxed()
    } else {
        let format = fmt::format().json().flatten_event(true).with_current_span(false).with_span_list(false);
        lines.json().event_format(JsonLine(format.with_target(false))).boxed()
    };
    tracing_subscriber::registry().with(filter.clone()).with(lines).init();
    Ok(filter)
}

/// The filter of the log, which a reload replaces. Not `tracing_subscriber::reload`, which takes its lock for
/// every span as well; this one is read once per callsite.
#[derive(Debug, Clone)]
pub(crate) struct LogFilter(Arc<RwLock<Targets>>);

impl LogFilter {
    /// Applies the directives of `log`.
    pub(crate) fn replace(&self, config: &Config) -> Result<(), ParseError> {
        let filter = config.log.parse()?;
        *self.0.write() = filter;
        callsite::rebuild_interest_cache();
        Ok(())
    }
}

impl<S: Subscriber> Layer<S> for LogFilter {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        Layer::<S>::register_callsite(&*self.0.read(), metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
        Layer::<S>::enabled(&*self.0.read(), metadata, context)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Layer::<S>::max_level_hint(&*self.0.read())
    }
}

/// The fields of text lines, and the id of the request.
struct TextFields(DefaultFields);

impl<'writer> FormatFields<'writer> for TextFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> std::fmt::Result {
        self.0.format_fields(writer.by_ref(), fields)?;
        match request_id() {
            Some(id) => write!(writer, " request_id={}", id.as_str()),
            None => Ok(()),
        }
    }
}

/// JSON lines, with the id of the request.
struct JsonLine(Format<Json>);

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let Some(id) = request_id() else { return self.0.format_event(context, writer, event) };
        let mut line = String::with_capacity(512);
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let end = line.rfind('}').unwrap_or(line.len());
        // No character of an id needs an escape.
        writeln!(writer, r#"{},"request_id":"{}"}}"#, &line[..end], id.as_str())
    }
}
