//! The subcommands of `pinhole`. Each is a variant with its help, an arm of `run`, and a module.

mod archive;
mod backup;
mod demo;
mod doctor;
mod healthcheck;
mod instance;
mod migrate;
mod operator;
mod reload;
mod restore;
mod serve;
mod users;

use std::process::ExitCode;

use clap::Subcommand;
use clap::builder::styling::Styles;

use crate::config::LoadedConfig;
use crate::demo::credits;
use crate::http::{LICENCES, openapi_document};
use crate::process::{fail, print};

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Run the service; the default command
    Serve(serve::ServeArgs),

    /// Run with sample users, photos and likes in a temporary folder, deleted on exit
    #[command(after_help = credits(*Styles::styled().get_header()))]
    Demo,

    /// Back up all rows and photos to one file while the service runs, or verify a backup
    ///
    /// The file is a plain tar of all photos and rows, with checksums for each file and one for the whole.
    /// It has the state of the instance at the start of the backup. Exit 0 if all is well, 3 if files of
    /// photos are damaged or lost and everything else is in the backup, else 1.
    #[command(
        verbatim_doc_comment,
        override_usage = "pinhole backup [OPTIONS] <FILE>\n       pinhole backup verify <FILE>"
    )]
    Backup(backup::BackupArgs),

    /// Restore a backup into an empty instance
    ///
    /// The service must be stopped. All checksums and rows are verified, and the rows are committed in
    /// one transaction at the end. An interrupted restore can be resumed by running it again. Exit 0 if
    /// everything was restored, 3 if --skip-damaged met damage, else 1.
    #[command(verbatim_doc_comment)]
    Restore(restore::RestoreArgs),

    /// Migrate to another database, another blob store, or both
    ///
    /// A location is a data folder, postgres://… or s3://…; one that is not given stays. First copy the
    /// photos while the service runs, as often as you like. Then stop the service and run with --finish,
    /// which copies the new photos and the rows, and compares them. Then start the service with the new
    /// locations. The old locations are not changed.
    #[command(
        verbatim_doc_comment,
        override_usage = "pinhole migrate [OPTIONS] --to-database <LOCATION> --to-blobs <LOCATION>"
    )]
    Migrate(migrate::MigrateArgs),

    /// Check the consistency of settings, database and photos; exit 0 if healthy, else 1
    ///
    /// It only reads, so the service may be running; with --fix it must be stopped. No post is ever
    /// deleted.
    #[command(verbatim_doc_comment)]
    Doctor(doctor::DoctorArgs),

    /// List, add, suspend and delete users, and reset passwords
    ///
    /// Works beside a running service and without one.
    #[command(verbatim_doc_comment)]
    User(users::UserArgs),

    /// Delete, hide or show a post
    Post(operator::PostArgs),

    /// Print a link with which others can join; list and revoke such invitations
    Invite(operator::InviteArgs),

    /// Show and change what owners set: who may join, name, description, quotas
    ///
    /// Works beside a running service and without one. A change is in force on all nodes at once:
    ///
    ///   pinhole instance set registration=approval
    ///   pinhole instance set name="Birds of the north" accent=#2f6ab8 member_bytes=10GB
    ///
    /// The keys are those that `pinhole instance show` prints. registration is open, invitation,
    /// approval or closed. An empty value unsets a key.
    #[command(verbatim_doc_comment)]
    Instance(operator::InstanceArgs),

    /// Print the audit log: what moderators, owners and the operator have done
    Audit(operator::AuditArgs),

    /// Print the number of users, posts, likes and photos
    Stats(operator::StatsArgs),

    /// Import an account of another instance, from the zip of its export
    ///
    /// Adds its posts with their dates to an existing user, and what the profile does not have yet. A
    /// post is never imported twice, so an interrupted import is simply repeated. Quotas do not apply.
    #[command(verbatim_doc_comment)]
    ImportAccount(operator::ImportArgs),

    /// Print the effective settings as a pinhole.toml, without secrets
    Config,

    /// Probe the readiness of a running service; exit 0 if ready, else 1
    Healthcheck,

    /// Print the licences of all that the program contains: libraries, fonts, pictures
    Licences,

    /// Print the OpenAPI document
    #[command(name = "openapi")]
    OpenApi,
}

impl Default for Command {
    fn default() -> Self {
        Self::Serve(serve::ServeArgs::default())
    }
}

impl Command {
    pub(crate) fn run(self, loaded: &LoadedConfig) -> ExitCode {
        let config = &loaded.config;
        match self {
            Self::Serve(args) => args.run(loaded),
            Self::Demo => demo::run(loaded),
            Self::Backup(args) => args.run(config),
            Self::Restore(args) => args.run(config),
            Self::Migrate(args) => args.run(config),
            Self::Doctor(args) => args.run(config),
            Self::User(args) => args.run(config),
            Self::Post(args) => args.run(config),
            Self::Invite(args) => args.run(config),
            Self::Instance(args) => args.run(config),
            Self::Audit(args) => args.run(config),
            Self::Stats(args) => args.run(config),
            Self::ImportAccount(args) => args.run(config),
            Self::Config => print(&(loaded.to_toml() + "\n")),
            Self::Healthcheck => healthcheck::run(config),
            Self::Licences => print(LICENCES),
            Self::OpenApi => match openapi_document().to_pretty_json() {
                Ok(json) => print(&(json + "\n")),
                Err(error) => fail(error),
            },
        }
    }
}
