//! Settings as command-line flags.

use std::fmt;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, FromArgMatches, value_parser};

use super::origin::Values;
use super::setting::flag;
use super::settings::SETTINGS;

/// The value of `--config`, and raw values by key (`max_upload`, `admin_token_file`).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub values: Values,
}

/// The flags are global, so that they are accepted before and after the subcommand, and hidden, because clap
/// would print several lines for each: `help.rs` prints a table instead. Clap does not know the defaults,
/// because a default would be indistinguishable from a flag that was given.
impl Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let file = Arg::new("config").long("config").value_name("FILE").value_parser(value_parser!(PathBuf));
        let settings = SETTINGS.keys().map(|key| {
            let long = flag(&key).trim_start_matches('-').to_owned();
            Arg::new(key).long(long).value_name("VALUE")
        });
        command.args([file].into_iter().chain(settings).map(|arg| arg.global(true).hide(true)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Clap copies the values of global flags from a subcommand to its parents, so the root command has all.
impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |key: String| matches.get_one::<String>(&key).cloned().map(|value| (key, value));
        let values = SETTINGS.keys().filter_map(value).collect();
        Ok(Self { config: matches.get_one("config").cloned(), values })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Without values, which may be secret.
impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flags").field("config", &self.config).field("values", &self.values.keys()).finish()
    }
}
