//! `pinhole user`, `post`, `invite`, `audit` and `stats`: commands of the operator, beside a running service
//! or without one.

use std::process::ExitCode;

use app::{App, OpenError};
use clap::Args;
use model::Clock;
use serde_json::Value;

use crate::config::Config;
use crate::operator::{InviteCommand, OperatorCommand, PostCommand, UserCommand, call, render};
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

fn run(config: &Config, command: OperatorCommand, json: bool) -> ExitCode {
    match block_on(execute(config, command)) {
        Ok(Ok(value)) if json => print(&(value.to_string() + "\n")),
        Ok(Ok(value)) => print(&render(&value)),
        Ok(Err(error)) | Err(error) => fail(error),
    }
}

async fn execute(config: &Config, command: OperatorCommand) -> Result<Value, String> {
    let has_database = config.database_url.is_some() || config.data_dir.join("pinhole.db").exists();
    if !has_database && !command.may_create_instance() {
        return Err(format!(
            "there is no instance in {}\nPoint --data-dir or PINHOLE_DATA_DIR to one, or start the service once.",
            config.data_dir.display()
        ));
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
