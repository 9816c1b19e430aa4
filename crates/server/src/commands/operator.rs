//! `pinhole user`, `post`, `invite`, `audit`, `stats` and `import-account`: commands of the operator, beside
//! a running service or without one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use app::{App, OpenError};
use clap::Args;
use model::Clock;
use serde_json::Value;

use crate::config::Config;
use crate::operator::{
    InviteCommand, OperatorCommand, PostCommand, UserCommand, call, import_account, render, send_archive,
};
use crate::process::{block_on, fail, print};
use crate::settings::{app_settings, base_url};

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct UserArgs {
    #[command(subcommand)]
    command: UserCommand,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct PostArgs {
    #[command(subcommand)]
    command: PostCommand,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct InviteArgs {
    /// How many users may join with the link
    #[arg(long, default_value_t = 1)]
    uses: u32,
    /// The days until it expires
    #[arg(long, default_value_t = 7)]
    days: u32,
    /// The role of those who join: member, moderator or owner
    #[arg(long, default_value = "member")]
    role: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct AuditArgs {
    /// How many entries at most
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct StatsArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct ImportArgs {
    /// The zip that a user has downloaded from the settings of an instance
    file: PathBuf,
    /// The user who gets the posts [default: the username in the archive]
    #[arg(long)]
    user: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl UserArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run(config, OperatorCommand::User(self.command), self.json)
    }
}

impl PostArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run(config, OperatorCommand::Post(self.command), self.json)
    }
}

impl InviteArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { uses, days, role, json } = self;
        run(config, OperatorCommand::Invite(InviteCommand { uses, days, role }), json)
    }
}

impl AuditArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run(config, OperatorCommand::Audit { limit: self.limit }, self.json)
    }
}

impl StatsArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run(config, OperatorCommand::Stats, self.json)
    }
}

impl ImportArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { file, user, json } = self;
        let imported = block_on(import(config, &file, user));
        let is_complete = matches!(&imported, Ok(Ok(value)) if value["error"].is_null());
        let exit = report(imported, json);
        if is_complete { exit } else { ExitCode::FAILURE }
    }
}

fn run(config: &Config, command: OperatorCommand, json: bool) -> ExitCode {
    report(block_on(execute(config, command)), json)
}

fn report(outcome: Result<Result<Value, String>, String>, json: bool) -> ExitCode {
    match outcome {
        Ok(Ok(value)) if json => print(&(value.to_string() + "\n")),
        Ok(Ok(value)) => print(&render(&value)),
        Ok(Err(error)) | Err(error) => fail(error),
    }
}

async fn import(config: &Config, path: &Path, user: Option<String>) -> Result<Value, String> {
    check_instance(config)?;
    let archive = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    match App::open(app_settings(config), Clock::system()).await {
        Ok(app) => import_account(&app, user, archive).await,
        Err(OpenError::Locked { .. }) => send_archive(&config.data_dir, user, archive).await,
        Err(error) => Err(error.to_string()),
    }
}

fn check_instance(config: &Config) -> Result<(), String> {
    if config.database_url.is_some() || config.data_dir.join("pinhole.db").exists() {
        return Ok(());
    }
    Err(format!(
        "there is no instance in {}\nPoint --data-dir or PINHOLE_DATA_DIR to one, or start the service once.",
        config.data_dir.display()
    ))
}

async fn execute(config: &Config, command: OperatorCommand) -> Result<Value, String> {
    if !command.may_create_instance() {
        check_instance(config)?;
    }
    match App::open(app_settings(config), Clock::system()).await {
        Ok(app) => {
            let deletes_account = command.deletes_account();
            let outcome = command.execute(&app, &base_url(config, config.listen)).await;
            // Without a service, nothing else deletes what belongs to the account.
            if deletes_account && let Err(error) = app.delete_marked_accounts().await {
                eprintln!("pinhole: the rest of the account is deleted when the service starts: {error}");
            }
            outcome
        }
        Err(OpenError::Locked { .. }) => call(&config.data_dir, &command).await,
        Err(error) => Err(error.to_string()),
    }
}
