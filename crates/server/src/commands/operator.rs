//! `pinhole post`, `invite`, `instance`, `audit`, `stats` and `import-account`: commands of the operator,
//! beside a running service or without one. `pinhole user` is in [`super::users`].

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use app::{App, OpenError};
use clap::Args;
use model::Clock;
use serde_json::Value;

use crate::config::Config;
use crate::operator::{
    InstanceCommand, InvitationsCommand, InviteCommand, OperatorCommand, PostCommand, call, import_account,
    render, send_archive,
};
use crate::process::{block_on, fail, print};
use crate::settings::{app_settings, base_url};

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct PostArgs {
    #[command(subcommand)]
    command: PostCommand,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InviteArgs {
    #[command(subcommand)]
    command: Option<InvitationsCommand>,
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
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct InstanceArgs {
    #[command(subcommand)]
    command: InstanceCommand,
    /// Print the result as JSON
    #[arg(long, global = true)]
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

impl PostArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run(config, OperatorCommand::Post(self.command), self.json)
    }
}

impl InviteArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { command, uses, days, role, json } = self;
        let command = match command {
            Some(command) => OperatorCommand::Invitations(command),
            None => OperatorCommand::Invite(InviteCommand { uses, days, role }),
        };
        run(config, command, json)
    }
}

impl InstanceArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        run(config, OperatorCommand::Instance(self.command), self.json)
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
        let imported = block_on(import(config, &file, user)).flatten();
        let is_complete = matches!(&imported, Ok(value) if value["error"].is_null());
        let exit = report(imported, json);
        if is_complete { exit } else { ExitCode::FAILURE }
    }
}

pub(super) fn run(config: &Config, command: OperatorCommand, json: bool) -> ExitCode {
    report(execute(config, command), json)
}

/// Runs a command; returns its result.
pub(super) fn execute(config: &Config, command: OperatorCommand) -> Result<Value, String> {
    let (replies, outcome) = execute_all(config, vec![command]);
    outcome.map(|()| replies.into_iter().next().unwrap_or_default())
}

/// Runs commands until one fails; returns the results of those before.
pub(super) fn execute_all(
    config: &Config,
    commands: Vec<OperatorCommand>,
) -> (Vec<Value>, Result<(), String>) {
    let mut replies = Vec::new();
    let outcome = block_on(run_all(config, commands, &mut replies)).flatten();
    (replies, outcome)
}

pub(super) fn report(outcome: Result<Value, String>, json: bool) -> ExitCode {
    match outcome {
        Ok(value) if json => print(&(value.to_string() + "\n")),
        Ok(value) => print(&render(&value)),
        Err(error) => fail(error),
    }
}

async fn import(config: &Config, path: &Path, user: Option<String>) -> Result<Value, String> {
    check_instance(config)?;
    let archive = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    match App::open(app_settings(config), Clock::system()).await {
        Ok(app) => import_account(&app, user, archive.into()).await,
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

async fn run_all(
    config: &Config,
    commands: Vec<OperatorCommand>,
    replies: &mut Vec<Value>,
) -> Result<(), String> {
    if !commands.iter().any(OperatorCommand::may_create_instance) {
        check_instance(config)?;
    }
    match App::open(app_settings(config), Clock::system()).await {
        Ok(app) => {
            for command in commands {
                let deletes_account = command.deletes_account();
                replies.push(command.execute(&app, &base_url(config, config.listen)).await?);
                // Without a service, nothing else deletes what belongs to the account.
                if deletes_account && let Err(error) = app.delete_marked_accounts().await {
                    eprintln!("pinhole: the rest of the account is deleted when the service starts: {error}");
                }
            }
        }
        Err(OpenError::Locked { .. }) => {
            for command in &commands {
                replies.push(call(&config.data_dir, command).await?);
            }
        }
        Err(error) => return Err(error.to_string()),
    }
    Ok(())
}
