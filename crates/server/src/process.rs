//! Process-level concerns of a command: runtime, signals, output and exit code.

use std::fmt::Display;
use std::io::{self, Write, stdout};
use std::process::{ExitCode, Termination};

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{Config, ConfigError, Flags, LoadedConfig};
use crate::telemetry::{self, LogFilter};

/// 128 + SIGINT: the exit code that shells report for a process that Ctrl+C ended.
const INTERRUPTED: u8 = 130;

pub(crate) fn print(text: &str) -> ExitCode {
    match stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        // EPIPE: the reader has closed the pipe.
        Err(_) => ExitCode::FAILURE,
    }
}

pub(crate) fn fail(error: impl Display) -> ExitCode {
    eprintln!("pinhole: {error}");
    ExitCode::FAILURE
}

/// Loads and validates the configuration, from flags, this process's environment and files.
pub(crate) fn load_config(flags: &Flags) -> Result<LoadedConfig, ConfigError> {
    let loaded = Config::load(flags, std::env::vars_os(), |path| std::fs::read_to_string(path))?;
    telemetry::check(&loaded.config).map_err(|error| loaded.invalid("log", error))?;
    Ok(loaded)
}

/// Runs a service, with logging and with the file descriptor limit that its connections need.
pub(crate) fn run_service<E: Display, F: Future<Output = Result<(), E>>>(
    config: &Config,
    service: impl FnOnce(LogFilter) -> F,
) -> ExitCode {
    match telemetry::start(config) {
        Ok(log) => {
            raise_file_limit(config);
            run(service(log))
        }
        Err(error) => fail(error),
    }
}

/// Runs a tool, which prints its results and has no log.
pub(crate) fn run<E: Display>(work: impl Future<Output = Result<(), E>>) -> ExitCode {
    match block_on(work) {
        Ok(outcome) => exit_code(outcome),
        Err(error) => fail(error),
    }
}

/// Runs a long operation until it is done, or until SIGTERM or SIGINT. `advice` tells the operator in which
/// state an interrupted operation leaves the data, and how to resume.
pub(crate) fn run_until_signal<T: Termination, E: Display>(
    work: impl Future<Output = Result<T, E>>,
    advice: &str,
) -> ExitCode {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(error),
    };
    let outcome = runtime.block_on(async {
        let signals = Signals::listen();
        tokio::select! {
            outcome = work => Some(outcome),
            () = signals.wait() => None,
        }
    });
    // Without waiting for threads that are blocked on a pipe or a disk.
    runtime.shutdown_background();
    match outcome {
        Some(outcome) => exit_code(outcome),
        None => {
            eprintln!("pinhole: stopped. {advice}");
            ExitCode::from(INTERRUPTED)
        }
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    Ok(runtime()?.block_on(work))
}

fn exit_code<T: Termination, E: Display>(outcome: Result<T, E>) -> ExitCode {
    outcome.map_or_else(fail, T::report)
}

fn runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Blocking threads do file I/O; more of them would only queue at the disk.
        .max_blocking_threads(64)
        .build();
    runtime.map_err(|error| format!("cannot start the runtime: {error}"))
}

/// SIGTERM and SIGINT (Ctrl+C), and for a service SIGHUP.
pub(crate) struct Signals {
    stop: io::Result<(Signal, Signal)>,
    /// Without it, SIGHUP ends the process, and does nothing under `nohup`.
    hangup: Option<Signal>,
}

impl Signals {
    pub(crate) fn listen() -> Self {
        let register = || Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?));
        Self { stop: register(), hangup: None }
    }

    /// For a service: SIGHUP reloads the configuration.
    pub(crate) fn listen_with_hangup() -> Self {
        let hangup = signal(SignalKind::hangup());
        if let Err(error) = &hangup {
            tracing::error!(%error, "signal handler not installed; SIGHUP ends this process");
        }
        Self { hangup: hangup.ok(), ..Self::listen() }
    }

    /// Waits for the end of a service, and calls `reload` for each SIGHUP.
    pub(crate) async fn wait_and_reload(mut self, mut reload: impl FnMut()) {
        let hangup = self.hangup.take();
        let reloading = async {
            if let Some(mut hangup) = hangup {
                while hangup.recv().await.is_some() {
                    reload();
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.wait() => {}
            () = reloading => {}
        }
    }

    pub(crate) async fn wait(self) {
        match self.stop {
            Ok((mut terminate, mut interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            Err(error) => {
                tracing::error!(%error, "signal handlers not installed; only SIGKILL stops this process");
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Every connection and upload needs file descriptors, and the default soft limit is often 1,024.
fn raise_file_limit(config: &Config) {
    let wanted = 2 * u64::from(config.max_connections) + 256;
    match rlimit::increase_nofile_limit(wanted) {
        Ok(limit) if limit < wanted => tracing::warn!(
            limit,
            wanted,
            "file descriptor limit too low for max_connections; raise it (ulimit -n, LimitNOFILE=)"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "file descriptor limit not raised"),
    }
}
