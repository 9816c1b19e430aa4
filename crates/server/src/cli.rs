//! The command line: what to do, and the settings given as flags.

mod verb;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use app::{BucketUrl, DatabaseUrl};
use clap::builder::styling::Styles;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, value_parser};
use ops::StorageLocation;

use crate::config::{self, Flags};
use crate::demo;
use verb::Verb;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Run the service; also what `pinhole` alone does.
    Serve,
    /// Run a throw-away instance that is full of life.
    Demo,
    /// Write everything into one file.
    Backup { file: PathBuf, force: bool, skip_missing: bool },
    /// Prove such a file.
    VerifyBackup { file: PathBuf },
    /// Bring it into an empty instance.
    Restore { file: PathBuf },
    /// Move to other places; what is not named stays.
    Migrate {
        to_database: Option<StorageLocation<DatabaseUrl>>,
        to_blobs: Option<StorageLocation<BucketUrl>>,
        step: Step,
    },
    /// Look whether all is well.
    Doctor { fix: bool, json: bool },
    /// Print the settings in force.
    Config,
    /// Ask a running server whether it is ready.
    Healthcheck,
    /// Print the machine-readable contract.
    OpenApi,
}

/// One step of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    DryRun,
    Copy,
    Finish,
    Verify,
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
    let given = matches.subcommand().and_then(|(name, given)| {
        let verb = Verb::ALL.into_iter().find(|verb| verb.name() == name);
        Some(command(verb?, given))
    });
    Ok(Invocation { command: given.transpose()?.unwrap_or(Command::Serve), flags: flags(&matches) })
}

fn command(verb: Verb, given: &ArgMatches) -> Result<Command, clap::Error> {
    // Asked for by every command that has one, so that it is there.
    let file = |given: &ArgMatches| given.get_one::<PathBuf>("archive").cloned().unwrap_or_default();
    Ok(match verb {
        Verb::Serve => Command::Serve,
        Verb::Demo => Command::Demo,
        Verb::Backup => match given.subcommand() {
            Some((_, verify)) => Command::VerifyBackup { file: file(verify) },
            None => Command::Backup {
                file: file(given),
                force: given.get_flag("force"),
                skip_missing: given.get_flag("skip-missing"),
            },
        },
        Verb::Restore => Command::Restore { file: file(given) },
        Verb::Migrate => {
            let steps = [("dry-run", Step::DryRun), ("finish", Step::Finish), ("verify", Step::Verify)];
            let step =
                steps.into_iter().find(|(name, _)| given.get_flag(name)).map_or(Step::Copy, |(_, step)| step);
            Command::Migrate {
                to_database: match place(given, "to-database")? {
                    None => place_in_file(given, "to-database-file")?,
                    named => named,
                },
                to_blobs: place(given, "to-blobs")?,
                step,
            }
        }
        Verb::Doctor => Command::Doctor { fix: given.get_flag("fix"), json: given.get_flag("json") },
        Verb::Config => Command::Config,
        Verb::Healthcheck => Command::Healthcheck,
        Verb::OpenApi => Command::OpenApi,
    })
}

/// What is wrong with it is said without repeating it: it may hold a password.
fn place<A: FromStr<Err = String>>(
    given: &ArgMatches,
    name: &str,
) -> Result<Option<StorageLocation<A>>, clap::Error> {
    given.get_one::<String>(name).map(|raw| raw.parse().map_err(|reason| wrong(name, reason))).transpose()
}

/// Everybody on a machine can see the arguments of its programs, but not what is in a file.
fn place_in_file<A: FromStr<Err = String>>(
    given: &ArgMatches,
    name: &str,
) -> Result<Option<StorageLocation<A>>, clap::Error> {
    let Some(path) = given.get_one::<PathBuf>(name) else { return Ok(None) };
    let raw = std::fs::read_to_string(path)
        .map_err(|cause| wrong(name, format!("cannot read {}: {cause}", path.display())))?;
    raw.trim().parse().map(Some).map_err(|reason| wrong(name, reason))
}

fn wrong(name: &str, reason: String) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("--{name}: {reason}\n"))
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
    let subcommands = Verb::ALL.map(|verb| {
        let help = verb_help(verb);
        verb.command()
            .override_help(help.clone())
            .mut_subcommands(move |inner| inner.override_help(help.clone()))
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
    let commands =
        Verb::ALL.map(|verb| format!("  {literal}{:11}{literal:#}  {}\n", verb.name(), verb.about()));
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

fn verb_help(verb: Verb) -> String {
    let styles = Styles::styled();
    let (heading, literal) = (*styles.get_header(), *styles.get_literal());
    let mut help = format!("{}\n\n", verb.about());
    let mut lead = format!("{heading}Usage:{heading:#}");
    for usage in verb.usage() {
        help += &format!("{lead} {literal}pinhole{literal:#} {usage}\n");
        lead = "      ".to_owned();
    }
    help += &format!("\n{}", verb.explanation());
    if !verb.options().is_empty() {
        help += &format!("{heading}Options:{heading:#}\n");
        for (option, meaning) in verb.options() {
            help += &format!("  {literal}{option:25}{literal:#}  {meaning}\n");
        }
        help += "\n";
    }
    help += &settings_help(styles);
    if verb == Verb::Demo {
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
    fn backups_and_moves_are_told_what_to_do() {
        let file = || "b.tar".into();
        let backup = |force, skip_missing| Command::Backup { file: file(), force, skip_missing };
        let migrate = |to_database: Option<&str>, to_blobs: Option<&str>, step| {
            let to_database = to_database.map(|raw| raw.parse().unwrap());
            let to_blobs = to_blobs.map(|raw| raw.parse().unwrap());
            Command::Migrate { to_database, to_blobs, step }
        };
        let (db, s3) = (Some("postgres://db/pinhole"), Some("s3://bucket"));
        let cases = [
            ("pinhole backup b.tar", backup(false, false)),
            ("pinhole backup --force --skip-missing b.tar", backup(true, true)),
            ("pinhole --data-dir x backup verify b.tar", Command::VerifyBackup { file: file() }),
            ("pinhole backup verify b.tar --log warn", Command::VerifyBackup { file: file() }),
            ("pinhole restore b.tar", Command::Restore { file: file() }),
            ("pinhole restore -", Command::Restore { file: "-".into() }),
            ("pinhole doctor --fix", Command::Doctor { fix: true, json: false }),
            ("pinhole doctor --json", Command::Doctor { fix: false, json: true }),
            (
                "pinhole migrate --to-database postgres://db/pinhole --to-blobs s3://bucket",
                migrate(db, s3, Step::Copy),
            ),
            ("pinhole migrate --to-blobs s3://bucket --dry-run", migrate(None, s3, Step::DryRun)),
            ("pinhole migrate --finish --to-database postgres://db/pinhole", migrate(db, None, Step::Finish)),
            ("pinhole migrate --verify --to-blobs s3://bucket", migrate(None, s3, Step::Verify)),
        ];
        for (line, command) in cases {
            assert_eq!(parse(line).unwrap().command, command, "{line}");
        }
        for line in [
            "pinhole backup",
            "pinhole backup a b",
            "pinhole backup verify",
            "pinhole restore",
            "pinhole migrate",
            "pinhole migrate --to-blobs s3://bucket --finish --dry-run",
            "pinhole migrate --to-blobs ftp://bucket",
            "pinhole migrate --to-database mysql://ada:s3cret@db/pinhole",
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "postgres://db/pinhole\n").unwrap();
        let line = format!("pinhole migrate --to-database-file {}", secret.path().display());
        assert_eq!(parse(&line).unwrap().command, migrate(db, None, Step::Copy));
        for line in [format!("{line} --to-database x"), format!("{line}-that-is-not-there")] {
            assert_eq!(parse(&line).unwrap_err().exit_code(), 2, "{line}");
        }
        let flags = parse("pinhole backup verify b.tar --data-dir x").unwrap().flags;
        assert_eq!(flags.values.get("data_dir").map(String::as_str), Some("x"));
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
            "pinhole backup --help",
            "pinhole backup verify --help",
            "pinhole restore --help",
            "pinhole migrate --help",
            "pinhole doctor --help",
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
