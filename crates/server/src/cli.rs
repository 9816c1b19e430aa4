//! The command line: a subcommand, and settings as flags.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::styling::Styles;
use clap::{CommandFactory, FromArgMatches, Parser};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::commands::Command;
use crate::config::{self, Flags};
use crate::process::{fail, load_config};

/// A photo-sharing service in one binary
#[derive(Debug, PartialEq, Eq, Parser)]
#[command(name = "pinhole", version, override_usage = "pinhole [OPTIONS] [COMMAND]")]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Runs the program. The first of `args` is its name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match parse(args) {
        Ok(cli) => cli,
        // Also the outcome of --help and --version, with exit code 0.
        Err(usage) => usage.exit(),
    };
    let loaded = match load_config(&cli.flags) {
        Ok(loaded) => loaded,
        Err(error) => return fail(error),
    };
    // Files hold password hashes, sessions and photos: other users of this machine get no access.
    umask(Mode::RWXG | Mode::RWXO);
    cli.command.unwrap_or_default().run(&loaded)
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command_line().try_get_matches_from(args)?)
}

/// `pinhole --help` ends with a table of the settings; the help of each subcommand refers to it.
fn command_line() -> clap::Command {
    let styles = Styles::styled();
    let settings = config::help(*styles.get_header(), *styles.get_literal());
    Cli::command().after_help(settings).mut_subcommands(refer_to_settings)
}

fn refer_to_settings(command: clap::Command) -> clap::Command {
    let hint = "All settings are accepted as flags too, such as --data-dir: see `pinhole --help`.";
    let help = match command.get_after_help() {
        Some(own) => format!("{}\n\n{hint}", own.ansi()),
        None => hint.to_owned(),
    };
    command.after_help(help).mut_subcommands(refer_to_settings)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        super::parse(line.split(' ').map(OsString::from))
    }

    fn usage(line: &str) -> clap::Error {
        parse(line).expect_err(line)
    }

    fn subcommands() -> Vec<String> {
        command_line().get_subcommands().map(|command| command.get_name().to_owned()).collect()
    }

    /// Every flag of a setting, `--config` included.
    fn setting_flags() -> Vec<String> {
        let command = command_line();
        let hidden = command.get_arguments().filter(|arg| arg.is_hide_set());
        hidden.map(|arg| format!("--{}", arg.get_long().unwrap())).collect()
    }

    #[test]
    fn the_command_line_passes_the_assertions_of_clap() {
        command_line().debug_assert();
    }

    #[test]
    fn the_arguments_of_every_command_are_parsed() {
        for line in [
            "pinhole serve",
            "pinhole serve --init",
            "pinhole demo",
            "pinhole backup b.tar",
            "pinhole backup --force b.tar",
            "pinhole backup -",
            "pinhole --data-dir x backup verify b.tar",
            "pinhole backup verify b.tar --log warn",
            "pinhole restore b.tar",
            "pinhole restore -",
            "pinhole restore --skip-damaged --keep-sessions b.tar",
            "pinhole doctor --fix",
            "pinhole doctor --json",
            "pinhole migrate --to-database postgres://db/pinhole --to-blobs s3://bucket",
            "pinhole migrate --to-blobs s3://bucket --dry-run",
            "pinhole migrate --finish --to-database postgres://db/pinhole",
            "pinhole migrate --verify --to-blobs ./folder",
            "pinhole user list --json",
            "pinhole user --json list --status pending",
            "pinhole user add ada --owner",
            "pinhole user suspend ada --reason spam --hide-posts",
            "pinhole user sessions ada --end",
            "pinhole post delete 7 --json",
            "pinhole invite --uses 3 --days 30",
            "pinhole audit --json",
            "pinhole stats",
            "pinhole config",
            "pinhole healthcheck",
            "pinhole licences",
            "pinhole openapi",
        ] {
            assert!(parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).command.is_some());
        }
        assert_eq!(parse("pinhole").unwrap().command, None);
        for line in [
            "pinhole backup",
            "pinhole backup a b",
            "pinhole backup verify",
            "pinhole restore",
            "pinhole migrate",
            "pinhole user",
            "pinhole user suspend ada",
            "pinhole user add ada --owner --moderator",
            "pinhole migrate --to-blobs s3://bucket --finish --dry-run",
            "pinhole migrate --to-blobs ftp://bucket",
            "pinhole migrate --to-database mysql://ada:s3cret@db/pinhole",
        ] {
            let error = usage(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn to_database_file_reads_the_location_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "postgres://db/pinhole\n").unwrap();
        let line = format!("pinhole migrate --to-database-file {}", file.path().display());
        parse(&line).unwrap();
        for line in [format!("{line} --to-database x"), format!("{line}-that-is-not-there")] {
            assert_eq!(usage(&line).exit_code(), 2, "{line}");
        }
        std::fs::write(file.path(), "mysql://ada:s3cret@db/pinhole\n").unwrap();
        let error = usage(&line).to_string();
        assert!(error.contains("--to-database-file: ") && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn every_setting_is_a_flag_before_and_after_every_subcommand() {
        for flag in setting_flags() {
            let key = flag.trim_start_matches('-').replace('-', "_");
            for line in
                ["pinhole FLAG x", "pinhole FLAG x serve", "pinhole serve FLAG x", "pinhole config FLAG=x"]
            {
                let flags = parse(&line.replace("FLAG", &flag)).unwrap().flags;
                match key.as_str() {
                    "config" => assert_eq!(flags.config, Some("x".into()), "{line}"),
                    _ => assert_eq!(flags.values, [(key.clone(), "x".to_owned())].into(), "{line}"),
                }
            }
        }
        let flags = parse("pinhole backup verify b.tar --data-dir x").unwrap().flags;
        assert_eq!(flags.values["data_dir"], "x");
        let flags = parse("pinhole --config a.toml healthcheck --listen x --log y").unwrap().flags;
        assert_eq!((flags.config, flags.values.len()), (Some("a.toml".into()), 2));
    }

    #[test]
    fn the_error_of_a_mistyped_flag_or_command_suggests_the_nearest() {
        for (line, nearest) in [
            ("pinhole --max-uplod 1MiB", "'--max-upload'"),
            ("pinhole serve --lisen x", "'--listen'"),
            ("pinhole --max_upload 1MiB", "'--max-upload'"),
            ("pinhole doctor --fixx", "'--fix'"),
            ("pinhole conifg", "'config'"),
        ] {
            let error = usage(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(nearest), "{line}: {error}");
        }
        assert_eq!(usage("pinhole --listen a --listen b").kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn help_has_one_line_for_each_setting_and_fits_a_terminal() {
        let help = usage("pinhole --help").to_string();
        for flag in setting_flags() {
            let variable =
                format!("  PINHOLE_{}", flag.trim_start_matches('-').replace('-', "_").to_uppercase());
            let start = format!("  {flag} ");
            let lines = help.lines().filter(|line| line.starts_with(&start) && line.ends_with(&variable));
            assert_eq!(lines.count(), 1, "{flag}:\n{help}");
        }
        let mut lines = vec!["pinhole -h".to_owned(), "pinhole --help".to_owned()];
        for command in subcommands() {
            lines.extend([format!("pinhole {command} -h"), format!("pinhole {command} --help")]);
        }
        lines.push("pinhole backup verify --help".to_owned());
        for line in lines {
            let error = usage(&line);
            assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelp, 0), "{line}");
            let help = error.to_string();
            assert!(help.contains("--data-dir"), "the help of {line} does not mention settings:\n{help}");
            for help_line in help.lines() {
                assert!(
                    help_line.chars().count() <= 100,
                    "a line of the help of {line} is too long: {help_line}"
                );
            }
        }
    }

    #[test]
    fn version_is_the_package_version() {
        let version = usage("pinhole --version").to_string();
        assert_eq!(version, format!("pinhole {}\n", env!("CARGO_PKG_VERSION")));
    }
}
