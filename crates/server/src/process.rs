//! Runs a command: runtime, signals, output and exit code.

use std::fmt::Display;
use std::io::{self, Write, stdout};
use std::process::ExitCode;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::Config;
use crate::telemetry;

/// The exit code that shells give a program stopped by Ctrl+C.
const INTERRUPTED: u8 = 130;

pub(crate) fn print(text: &str) -> ExitCode {
    match stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the pipe has closed it.
        Err(_) => ExitCode::FAILURE,
    }
}

pub(crate) fn fail(error: impl Display) -> ExitCode {
    eprintln!("pinhole: {error}");
    ExitCode::FAILURE
}

/// Runs a service: with its log, and as many open files as its connections need.
pub(crate) fn run_service<E: Display>(
    config: &Config,
    service: impl Future<Output = Result<(), E>>,
) -> ExitCode {
    if let Err(error) = telemetry::start(config) {
        return fail(error);
    }
    raise_file_limit(config);
    run(service)
}

/// Runs a tool, which prints its results itself and has no log.
pub(crate) fn run<E: Display>(work: impl Future<Output = Result<(), E>>) -> ExitCode {
    match block_on(work) {
        Ok(outcome) => exit_code(outcome),
        Err(error) => fail(error),
    }
}

/// The same for a long operation. SIGTERM or Ctrl+C ends it; `advice` says what that means and how to
/// continue.
pub(crate) fn run_until_signal<E: Display>(
    work: impl Future<Output = Result<(), E>>,
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
    // A thread may still be blocked on a pipe or a disk.
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

fn exit_code<E: Display>(outcome: Result<(), E>) -> ExitCode {
    outcome.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // These do file work: more of them would only queue up at the disk.
        .max_blocking_threads(64)
        .build();
    runtime.map_err(|error| format!("cannot start the runtime: {error}"))
}

/// SIGTERM and Ctrl+C.
pub(crate) struct Signals(io::Result<(Signal, Signal)>);

impl Signals {
    pub(crate) fn listen() -> Self {
        let both = || Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?));
        Self(both())
    }

    pub(crate) async fn wait(self) {
        match self.0 {
            Ok((mut terminate, mut interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            Err(error) => {
                tracing::error!(%error, "cannot listen for signals; only a kill will stop this process");
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Every connection and every upload is an open file; the usual limit of 1,024 is for shells.
fn raise_file_limit(config: &Config) {
    let wanted = 2 * u64::from(config.max_connections) + 256;
    match rlimit::increase_nofile_limit(wanted) {
        Ok(limit) if limit < wanted => tracing::warn!(
            limit,
            wanted,
            "this process may open fewer files than max_connections needs; raise its limit (ulimit -n)"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "cannot raise the limit of open files"),
    }
}
