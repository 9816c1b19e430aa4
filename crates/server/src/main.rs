//! The `pinhole` program.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use model::Clock;
use rustix::fs::Mode;
use rustix::process::umask;
use server::cli::{self, Command};
use server::config::Config;
use server::{
    Demo, DemoError, Service, StartError, announce, doctor, healthcheck, moving, openapi_document, telemetry,
};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What shells say of a program that was stopped by Ctrl+C.
const INTERRUPTED: u8 = 130;

/// Settings that a demo has no use for.
const PLACES: [&str; 2] = ["data_dir", "blobs_url"];

fn main() -> ExitCode {
    let invocation = match cli::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(usage) => usage.exit(),
    };
    let loaded =
        match Config::load(&invocation.flags, std::env::vars_os(), |path| std::fs::read_to_string(path)) {
            Ok(loaded) => loaded,
            Err(error) => return fail(error),
        };
    if let Err(error) = telemetry::check(&loaded.config) {
        return fail(loaded.refuse("log", error));
    }
    // What we write holds password hashes and sessions: no other user of this machine may look.
    umask(Mode::RWXG | Mode::RWXO);
    match invocation.command {
        Command::Config => print(&(loaded.to_toml() + "\n")),
        Command::OpenApi => match openapi_document().to_pretty_json() {
            Ok(json) => print(&(json + "\n")),
            Err(error) => fail(error),
        },
        Command::Healthcheck => match healthcheck::ask(loaded.config.listen) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(format!("{} is not ready: {error}", loaded.config.listen)),
        },
        Command::Backup { file, force, skip_missing } => unless_stopped(
            moving::back_up(&loaded.config, &file, force, skip_missing),
            "There is no backup; a file that ends with .partial is overwritten by the next attempt.",
        ),
        Command::VerifyBackup { file } => work(moving::verify_backup(&file)),
        Command::Restore { file } => unless_stopped(
            moving::restore(&loaded.config, &file),
            "Nothing is shown yet: run it again, and it goes on where it was stopped.",
        ),
        Command::Migrate { to_database, to_blobs, step } => unless_stopped(
            moving::migrate(&loaded.config, to_database, to_blobs, step),
            "The old places are as they were; run it again to go on.",
        ),
        Command::Doctor { fix, json } => examine(&loaded.config, fix, json),
        Command::Serve => run(&loaded.config, serve(&loaded.config)),
        Command::Demo => match PLACES.iter().find(|key| invocation.flags.values.contains_key(**key)) {
            Some(key) => fail(loaded.refuse(
                key,
                "a demo has a temporary folder of its own and deletes it at the end; leave this out, \
                 or keep what people post with `pinhole serve`",
            )),
            None => {
                let port_is_given = loaded.is_given("listen");
                run(&loaded.config, demo(loaded.config.clone(), port_is_given))
            }
        },
    }
}

async fn serve(config: &Config) -> Result<(), StartError> {
    // Before anything is announced: whoever reads "ready" may ask us to stop at once.
    let stop_asked = Signals::listen();
    let service = Service::start(config, Clock::system()).await?;
    announce(config, &service, None);
    stop_asked.wait().await;
    tracing::info!("stopping: finishing what runs");
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}

async fn demo(config: Config, port_is_given: bool) -> Result<(), DemoError> {
    // Before there is a folder: from then on nothing short of a kill leaves it behind.
    let stop_asked = Signals::listen();
    let demo = Demo::start(config, port_is_given).await?;
    announce(demo.config(), demo.service(), Some(demo.guest()));
    stop_asked.wait().await;
    tracing::info!("stopping: finishing what runs");
    demo.stop().await?;
    tracing::info!("stopped, and everything is deleted");
    Ok(())
}

fn run<E: Display>(config: &Config, work: impl Future<Output = Result<(), E>>) -> ExitCode {
    if let Err(error) = telemetry::start(config) {
        return fail(error);
    }
    raise_file_limit(config);
    self::work(work)
}

/// What an operator waits for: it says itself what is worth saying, and has no log.
fn work<E: Display>(work: impl Future<Output = Result<(), E>>) -> ExitCode {
    match runtime() {
        Ok(runtime) => runtime.block_on(work).map_or_else(fail, |()| ExitCode::SUCCESS),
        Err(error) => fail(error),
    }
}

/// The same for what takes long. Whoever stops it with Ctrl+C hears what that means, and with what to go on.
fn unless_stopped<E: Display>(work: impl Future<Output = Result<(), E>>, afterwards: &str) -> ExitCode {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(error),
    };
    let ended = runtime.block_on(async {
        let stop_asked = Signals::listen();
        tokio::select! {
            ended = work => Some(ended),
            () = stop_asked.wait() => None,
        }
    });
    // A thread may still wait for a pipe or a disk: nobody waits for it.
    runtime.shutdown_background();
    match ended {
        Some(ended) => ended.map_or_else(fail, |()| ExitCode::SUCCESS),
        None => {
            // Over the bar that may stand there.
            let clear = if stderr().is_terminal() { "\r\x1b[2K" } else { "" };
            eprintln!("{clear}pinhole: stopped. {afterwards}");
            ExitCode::from(INTERRUPTED)
        }
    }
}

fn examine(config: &Config, fix: bool, json: bool) -> ExitCode {
    let report = match runtime() {
        Ok(runtime) => runtime.block_on(doctor::examine(config, fix, json)),
        Err(error) => return fail(error),
    };
    let printed = print(&if json { report.to_json() } else { report.to_text() });
    if report.is_healthy() { printed } else { ExitCode::FAILURE }
}

fn runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // These do file work. More of them would only queue up at the disk.
        .max_blocking_threads(64)
        .build();
    runtime.map_err(|error| format!("cannot start the runtime: {error}"))
}

/// SIGTERM and Ctrl+C.
struct Signals(io::Result<(Signal, Signal)>);

impl Signals {
    fn listen() -> Self {
        let both = || Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?));
        Self(both())
    }

    async fn wait(self) {
        match self.0 {
            Ok((mut terminate, mut interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            Err(error) => {
                tracing::error!(%error, "cannot listen for signals; only a kill will stop this process");
                std::future::pending().await
            }
        }
    }
}

/// Every connection is a file, and so is every upload; the usual limit of 1,024 is for shells.
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

fn print(text: &str) -> ExitCode {
    match stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever piped us elsewhere has read enough.
        Err(_) => ExitCode::FAILURE,
    }
}

fn fail(error: impl Display) -> ExitCode {
    eprintln!("pinhole: {error}");
    ExitCode::FAILURE
}
