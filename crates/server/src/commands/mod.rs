//! The commands of `pinhole`. A command is a variant with its help, an arm of the dispatch, and a module.

mod archive;
mod backup;
mod demo;
mod doctor;
mod healthcheck;
mod instance;
mod migrate;
mod restore;
mod serve;

use std::process::ExitCode;

use clap::Subcommand;
use clap::builder::styling::Styles;

use crate::config::Loaded;
use crate::demo::credits;
use crate::http::openapi_document;
use crate::process::{fail, print};

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Run the service; so does `pinhole` alone
    Serve,

    /// Show it alive: people, photos and likes in a temporary folder, deleted at the end
    #[command(after_help = credits(*Styles::styled().get_header()))]
    Demo,

    /// Write everything into one file, while the service runs; or verify such a file
    ///
    /// The file is a plain tar of all photos and rows, with a checksum for each and one over all. It
    /// holds the state of the moment at which the backup was started.
    #[command(
        verbatim_doc_comment,
        override_usage = "pinhole backup [OPTIONS] <FILE>\n       pinhole backup verify <FILE>"
    )]
    Backup(backup::BackupArgs),

    /// Restore a backup into an empty instance
    ///
    /// The service must not run. All checksums are verified on the way, and nothing is visible before all
    /// of it is there; an interrupted attempt is continued by the next.
    #[command(verbatim_doc_comment)]
    Restore(restore::RestoreArgs),

    /// Move to another database, another blob store, or both
    ///
    /// A location is a data folder, postgres://… or s3://…; what is not named stays where it is. First
    /// copy the photos while the service runs, as often as you like. Then stop the service and --finish:
    /// that copies what is new and the database, and compares both. Then start it on the new locations.
    /// The old ones are left unchanged.
    #[command(
        verbatim_doc_comment,
        override_usage = "pinhole migrate [OPTIONS] --to-database <LOCATION> --to-blobs <LOCATION>"
    )]
    Migrate(migrate::MigrateArgs),

    /// Check everything, say what is wrong and what to do; exit 0 or 1
    ///
    /// It only reads, so the service may run meanwhile; with --fix it must not. Nothing that was posted
    /// is ever removed.
    #[command(verbatim_doc_comment)]
    Doctor(doctor::DoctorArgs),

    /// Print the settings in force as a pinhole.toml, secrets hidden
    Config,

    /// Ask a running server whether it is ready; exit 0 or 1; for container images
    Healthcheck,

    /// Print the machine-readable contract
    #[command(name = "openapi")]
    OpenApi,
}

impl Command {
    pub(crate) fn run(self, loaded: &Loaded) -> ExitCode {
        let config = &loaded.config;
        match self {
            Self::Serve => serve::run(config),
            Self::Demo => demo::run(loaded),
            Self::Backup(args) => args.run(config),
            Self::Restore(args) => args.run(config),
            Self::Migrate(args) => args.run(config),
            Self::Doctor(args) => args.run(config),
            Self::Config => print(&(loaded.to_toml() + "\n")),
            Self::Healthcheck => healthcheck::run(config),
            Self::OpenApi => match openapi_document().to_pretty_json() {
                Ok(json) => print(&(json + "\n")),
                Err(error) => fail(error),
            },
        }
    }
}
