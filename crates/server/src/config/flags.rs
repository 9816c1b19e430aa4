//! The settings as flags of the command line.

use std::fmt;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, FromArgMatches, value_parser};

use super::origin::Values;
use super::setting::flag;
use super::settings::SETTINGS;

/// The settings file that was named, and raw values by key (`max_upload`, `admin_token_file`).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub values: Values,
}

/// Global, so that they may stand before or after the subcommand. Hidden, because clap would give each of
/// them several lines of help: `help.rs` prints a table. Defaults are not told to clap, which would hide what
/// was given.
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

/// clap copies the values of global flags from a subcommand to its parents, so the outermost command has them
/// all.
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

/// Names only: a value may be a secret.
impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flags").field("config", &self.config).field("values", &self.values.keys()).finish()
    }
}
