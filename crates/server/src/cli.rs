//! The command line: what to do, and the settings given as flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Arg, ArgMatches, value_parser};

use crate::config::{self, Flags};
use crate::demo;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Run the service; also what `pinhole` alone does.
    Serve,
    /// Run a throw-away instance that is full of life.
    Demo,
    /// Print the settings in force.
    Config,
    /// Ask a running server whether it is ready.
    Healthcheck,
    /// Print the machine-readable contract.
    OpenApi,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub command: Command,
    pub flags: Flags,
}

/// `args` begin with the program's own name. The error is also how help and version are asked for: its `exit`
/// prints what is due and ends the process with the status that fits.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command_line().try_get_matches_from(args)?;
    let given = matches.subcommand_name();
    let command = Command::ALL.into_iter().find(|command| Some(command.name()) == given);
    Ok(Invocation { command: command.unwrap_or(Command::Serve), flags: flags(&matches) })
}

impl Command {
    const ALL: [Self; 5] = [Self::Serve, Self::Demo, Self::Config, Self::Healthcheck, Self::OpenApi];

    fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Demo => "demo",
            Self::Config => "config",
            Self::Healthcheck => "healthcheck",
            Self::OpenApi => "openapi",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Serve => "Run the service; so does `pinhole` alone",
            Self::Demo => "Show it alive: people, photos and likes in a temporary folder, deleted at the end",
            Self::Config => "Print the settings in force as a pinhole.toml, secrets hidden",
            Self::Healthcheck => {
                "Ask a running server whether it is ready; exit 0 or 1; for container images"
            }
            Self::OpenApi => "Print the machine-readable contract",
        }
    }
}

/// Settings are global, so that they may stand before or after the subcommand. Defaults are not told to clap: it
/// must stay visible what was given.
fn command_line() -> clap::Command {
    let settings = config::keys().map(|key| {
        let name = config::flag(&key).trim_start_matches('-').to_owned();
        Arg::new(key).long(name).global(true).value_name("VALUE")
    });
    let file = Arg::new("config")
        .long("config")
        .global(true)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf));
    let subcommands = Command::ALL.map(|command| {
        clap::Command::new(command.name()).about(command.about()).override_help(subcommand_help(command))
    });
    clap::Command::new("pinhole")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(file)
        .args(settings)
        .subcommands(subcommands)
        .override_help(help())
}

/// A subcommand's flags are among those of its parent once they have been parsed, so the parent has them all.
fn flags(matches: &ArgMatches) -> Flags {
    let value = |key: String| matches.get_one::<String>(&key).cloned().map(|value| (key, value));
    Flags { config: matches.get_one("config").cloned(), values: config::keys().filter_map(value).collect() }
}

/// Our own, for clap would give each of forty flags several lines.
fn help() -> String {
    let styles = Styles::styled();
    let (heading, literal) = (*styles.get_header(), *styles.get_literal());
    let commands = Command::ALL
        .map(|command| format!("  {literal}{:11}{literal:#}  {}\n", command.name(), command.about()));
    format!(
        "A photo-sharing service in one binary\n\n\
         {heading}Usage:{heading:#} {literal}pinhole{literal:#} [OPTIONS] [COMMAND]\n\n\
         {heading}Commands:{heading:#}\n{}\n\
         {}\
         {heading}Help:{heading:#}\n  \
         {literal}-h{literal:#}, {literal}--help{literal:#}                 Print this\n  \
         {literal}-V{literal:#}, {literal}--version{literal:#}              Print the version\n",
        commands.concat(),
        settings_help(styles),
    )
}

fn subcommand_help(command: Command) -> String {
    let styles = Styles::styled();
    let (heading, literal) = (*styles.get_header(), *styles.get_literal());
    let name = command.name();
    let mut help = format!(
        "{}\n\n{heading}Usage:{heading:#} {literal}pinhole {name}{literal:#} [OPTIONS]\n\n{}",
        command.about(),
        settings_help(styles),
    );
    if command == Command::Demo {
        help += &demo::credits(heading);
    }
    help
}

fn settings_help(styles: Styles) -> String {
    format!(
        "Every setting is a flag, a variable or a key of the settings file (max_upload = \"32MiB\"); the\n\
         first of these wins. Defaults are in brackets. Sizes: 512KiB, 32MiB, 1GiB. Times: 500ms, 10s, 90d.\n\n{}",
        config::help(*styles.get_header(), *styles.get_literal()),
    )
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Invocation, clap::Error> {
        super::parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn serves_unless_told_otherwise() {
        let cases = [
            ("pinhole", Command::Serve),
            ("pinhole serve", Command::Serve),
            ("pinhole demo", Command::Demo),
            ("pinhole config", Command::Config),
            ("pinhole healthcheck", Command::Healthcheck),
            ("pinhole openapi", Command::OpenApi),
            ("pinhole --listen 0.0.0.0:80 config", Command::Config),
        ];
        for (line, command) in cases {
            assert_eq!(parse(line).unwrap().command, command, "{line}");
        }
    }

    #[test]
    fn every_setting_is_a_flag_before_and_after_every_subcommand() {
        for key in config::keys() {
            let flag = config::flag(&key);
            for line in
                ["pinhole FLAG x", "pinhole FLAG x serve", "pinhole serve FLAG x", "pinhole config FLAG=x"]
            {
                let line = line.replace("FLAG", &flag);
                let flags = parse(&line).unwrap().flags;
                assert_eq!(
                    flags.values.into_iter().collect::<Vec<_>>(),
                    [(key.clone(), "x".into())],
                    "{line}"
                );
            }
        }
        let flags = parse("pinhole --config a.toml healthcheck --listen x --log y").unwrap().flags;
        assert_eq!(flags.config, Some("a.toml".into()));
        assert_eq!(flags.values.len(), 2);
    }

    #[test]
    fn a_mistyped_flag_or_command_is_met_with_the_nearest() {
        for (line, meant) in [
            ("pinhole --max-uplod 1MiB", "'--max-upload'"),
            ("pinhole serve --lisen x", "'--listen'"),
            ("pinhole --max_upload 1MiB", "'--max-upload'"),
            ("pinhole conifg", "'config'"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(meant), "{line}: {error}");
        }
        assert_eq!(parse("pinhole --listen a --listen b").unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn help_has_one_line_for_each_setting_and_fits_a_terminal() {
        for line in [
            "pinhole --help",
            "pinhole -h",
            "pinhole serve --help",
            "pinhole demo --help",
            "pinhole help config",
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelp, 0), "{line}");
            let help = error.to_string();
            for key in config::keys() {
                let start = format!("  {} ", config::flag(&key));
                let variable = format!("  PINHOLE_{}", key.to_uppercase());
                let lines = help.lines().filter(|line| line.starts_with(&start) && line.ends_with(&variable));
                assert_eq!(lines.count(), 1, "{key} in {line}:\n{help}");
            }
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "too long: {line}");
            }
        }
    }

    #[test]
    fn version_is_the_package_version() {
        let error = parse("pinhole --version").unwrap_err();
        assert_eq!(error.to_string(), format!("pinhole {}\n", env!("CARGO_PKG_VERSION")));
    }
}
