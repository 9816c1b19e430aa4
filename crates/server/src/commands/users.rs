//! `pinhole user`: a list that can be piped, and decisions about one user or several.

use std::collections::HashSet;
use std::io::{IsTerminal, read_to_string, stdin};
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::operator::{execute, execute_all, report, run};
use crate::config::Config;
use crate::operator::{NAMES_AT_ONCE, OperatorCommand, UserCommand, render};
use crate::process::{fail, print};

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct UserArgs {
    #[command(subcommand)]
    command: UserCommand,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

impl UserArgs {
    pub(super) fn run(self, config: &Config) -> ExitCode {
        let Self { mut command, json } = self;
        if let UserCommand::List { names, .. } = command {
            return list(config, command, names, json);
        }
        match command.usernames().map(std::mem::take) {
            Some(given) => decide(config, command, given, json),
            None => run(config, OperatorCommand::User(command), json),
        }
    }
}

fn list(config: &Config, command: UserCommand, names: bool, json: bool) -> ExitCode {
    let mut page = match execute(config, OperatorCommand::User(command)) {
        Ok(page) => page,
        Err(error) => return fail(error),
    };
    let Some(Value::Array(mut users)) = page.get_mut("users").map(Value::take) else {
        return fail("the running service is of an older version; restart it");
    };
    if let (Some(last), Some(more @ 1..)) = (users.last(), page["more"].as_u64()) {
        let all = users.len() as u64 + more;
        // Not to the standard output, which another command may read.
        eprintln!("{} of {all} shown; --limit {all} or --after {} shows more", users.len(), last["id"]);
    }
    if names {
        let names = users.iter().filter_map(|user| user["username"].as_str());
        return match json {
            true => report(Ok(names.collect()), json),
            false => print(&names.map(|name| format!("{name}\n")).collect::<String>()),
        };
    }
    // People read an age, programs a time.
    let unread: &[&str] = if json { &["age"] } else { &["created_at", "reason"] };
    for user in users.iter_mut().filter_map(Value::as_object_mut) {
        user.retain(|key, _| !unread.contains(&key.as_str()));
    }
    report(Ok(users.into()), json)
}

/// Carries out a decision about each of the named users, and reports what became of each.
fn decide(config: &Config, command: UserCommand, given: Vec<String>, json: bool) -> ExitCode {
    let is_single = matches!(given.as_slice(), [name] if name != "-");
    let names = match read_names(given) {
        Ok(names) => names,
        Err(error) => return fail(format!("cannot read names from the standard input: {error}")),
    };
    if names.is_empty() {
        eprintln!("pinhole: no names on the standard input; nothing was done");
    }
    if matches!(command, UserCommand::Delete { yes: false, .. }) && names.len() > 1 && !confirm(names.len()) {
        return fail("nothing was deleted");
    }
    let batch = |names: &[String]| {
        let mut command = command.clone();
        if let Some(usernames) = command.usernames() {
            *usernames = names.to_vec();
        }
        OperatorCommand::User(command)
    };
    let (replies, ended) = execute_all(config, names.chunks(NAMES_AT_ONCE).map(batch).collect());
    let outcomes: Vec<Value> =
        replies.into_iter().filter_map(|reply| reply.as_array().cloned()).flatten().collect();
    if let ([outcome], true, true) = (outcomes.as_slice(), is_single, ended.is_ok()) {
        let error = outcome["error"].as_str().map(str::to_owned);
        return report(error.map_or_else(|| Ok(outcome.clone()), Err), json);
    }
    let (done, failed): (Vec<Value>, Vec<Value>) =
        outcomes.iter().cloned().partition(|outcome| outcome["error"].is_null());
    let printed = if json {
        report(Ok(outcomes.into()), json)
    } else if done.is_empty() {
        ExitCode::SUCCESS
    } else {
        report(Ok(done.into()), json)
    };
    let count = failed.len();
    if count > 0 {
        eprint!("{}", render(&failed.into()));
    }
    match ended {
        Err(error) => fail(error),
        Ok(()) if count > 0 => fail(format!("{count} of {} failed", names.len())),
        Ok(()) => printed,
    }
}

/// The names in the arguments, each once; `-` stands for those on the standard input, one per line.
fn read_names(given: Vec<String>) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for name in given {
        if name == "-" {
            names.extend(read_to_string(stdin())?.lines().map(|line| line.trim().to_owned()));
        } else {
            names.push(name);
        }
    }
    let mut seen = HashSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.to_ascii_lowercase()));
    Ok(names)
}

/// Asks on a terminal; a script has decided already.
fn confirm(count: usize) -> bool {
    if !stdin().is_terminal() {
        return true;
    }
    eprint!("Delete {count} users with all their posts, photos and likes? [y/N] ");
    let mut answer = String::new();
    // Without an answer, nothing is deleted.
    stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
