//! What `pinhole` can be told to do, as the help tells of it.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, value_parser};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Serve,
    Demo,
    Backup,
    Restore,
    Migrate,
    Doctor,
    Config,
    Healthcheck,
    OpenApi,
}

impl Verb {
    pub(super) const ALL: [Self; 9] = [
        Self::Serve,
        Self::Demo,
        Self::Backup,
        Self::Restore,
        Self::Migrate,
        Self::Doctor,
        Self::Config,
        Self::Healthcheck,
        Self::OpenApi,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Demo => "demo",
            Self::Backup => "backup",
            Self::Restore => "restore",
            Self::Migrate => "migrate",
            Self::Doctor => "doctor",
            Self::Config => "config",
            Self::Healthcheck => "healthcheck",
            Self::OpenApi => "openapi",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Serve => "Run the service; so does `pinhole` alone",
            Self::Demo => "Show it alive: people, photos and likes in a temporary folder, deleted at the end",
            Self::Backup => "Write everything into one file, while the service runs; or verify such a file",
            Self::Restore => "Bring a backup into an empty instance",
            Self::Migrate => "Move to another database, another blob store, or both",
            Self::Doctor => "Look whether all is well, say what is not and what to do; exit 0 or 1",
            Self::Config => "Print the settings in force as a pinhole.toml, secrets hidden",
            Self::Healthcheck => {
                "Ask a running server whether it is ready; exit 0 or 1; for container images"
            }
            Self::OpenApi => "Print the machine-readable contract",
        }
    }

    /// How it is called, one way a line.
    pub(super) fn usage(self) -> &'static [&'static str] {
        match self {
            Self::Backup => &["backup [OPTIONS] FILE", "backup verify FILE"],
            Self::Restore => &["restore [OPTIONS] FILE"],
            Self::Migrate => &["migrate [OPTIONS] --to-database PLACE --to-blobs PLACE"],
            Self::Serve => &["serve [OPTIONS]"],
            Self::Demo => &["demo [OPTIONS]"],
            Self::Doctor => &["doctor [OPTIONS]"],
            Self::Config => &["config [OPTIONS]"],
            Self::Healthcheck => &["healthcheck [OPTIONS]"],
            Self::OpenApi => &["openapi [OPTIONS]"],
        }
    }

    /// What there is to know before it is called.
    pub(super) fn explanation(self) -> &'static str {
        match self {
            Self::Backup => {
                "The file is a plain tar of all photos and rows, with a checksum for each and one over all. It\n\
                 holds the moment at which it was begun; `-` writes it to the output. `verify` reads a file (or\n\
                 `-`) to its end and names whatever is damaged; nothing is restored for that.\n\n"
            }
            Self::Restore => {
                "The service must not run. Everything is proven on the way, and nothing is shown before all of it\n\
                 is there; an attempt that was interrupted is continued by the next. `-` reads from the input.\n\n"
            }
            Self::Migrate => {
                "A place is a data folder, postgres://… or s3://…; what is not named stays where it is. First copy\n\
                 the photos while the service runs, as often as you like. Then stop the service and --finish: that\n\
                 brings in what is new and the database, and compares both. Then start it on the new places. The\n\
                 old ones are left as they are.\n\n"
            }
            Self::Doctor => {
                "It only reads, so the service may run meanwhile; with --fix it must not. Nothing that anybody\n\
                 posted is ever removed.\n\n"
            }
            _ => "",
        }
    }

    /// Its own options, with what they mean.
    pub(super) fn options(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Backup => &[
                ("--force", "Replace the file if it is there"),
                ("--skip-missing", "Leave out photos whose bytes are missing, with their posts"),
            ],
            Self::Migrate => &[
                ("--to-database <PLACE>", "Where rows go"),
                ("--to-database-file <FILE>", "The same from a file: nobody sees a password in it"),
                ("--to-blobs <PLACE>", "Where photos go"),
                ("--dry-run", "Look at both ends and say how much there is to do"),
                ("--finish", "Copy what is left and the database; the service must not run"),
                ("--verify", "Compare every row and every byte, and write nothing"),
            ],
            Self::Doctor => &[
                ("--fix", "Mend what can be mended without losing anything"),
                ("--json", "Tell it to a machine"),
            ],
            _ => &[],
        }
    }

    pub(super) fn command(self) -> clap::Command {
        let command = clap::Command::new(self.name()).about(self.about());
        match self {
            Self::Backup => {
                let verify = clap::Command::new("verify").about("Prove a backup").arg(file());
                let command = command.arg(file()).args([switch("force"), switch("skip-missing")]);
                command.subcommand(verify).subcommand_negates_reqs(true)
            }
            Self::Restore => command.arg(file()),
            Self::Migrate => {
                let step = ArgGroup::new("step").args(["dry-run", "finish", "verify"]);
                let target = ArgGroup::new("target")
                    .args(["to-database", "to-database-file", "to-blobs"])
                    .required(true)
                    .multiple(true);
                let by_file = Arg::new("to-database-file")
                    .long("to-database-file")
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf))
                    .conflicts_with("to-database");
                let switches = ["dry-run", "finish", "verify"].map(switch);
                command
                    .args([place("to-database"), by_file, place("to-blobs")])
                    .args(switches)
                    .group(step)
                    .group(target)
            }
            Self::Doctor => command.args([switch("fix"), switch("json")]),
            _ => command,
        }
    }
}

fn file() -> Arg {
    Arg::new("archive").value_name("FILE").required(true).value_parser(value_parser!(PathBuf))
}

fn switch(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

fn place(name: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("PLACE")
}
