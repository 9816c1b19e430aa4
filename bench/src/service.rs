//! The service against its limits and its peers: requests a second, CPU time, latency.

pub(crate) mod bare;
mod builds;
mod docs;
mod feed;
mod fill;
mod growth;
mod histogram;
mod images;
mod ipx;
mod likes;
mod load;
mod machines;
mod mixed;
mod nginx;
mod ours;
mod pgbench;
mod pictrs;
mod plot;
mod pocketbase;
mod postgres;
mod posts;
mod process;
pub(crate) mod race;
mod sqlite;
mod thumbor;
mod wire;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::error::{Error, create_folder, read, write};
use crate::peers;
use crate::pictures::{cpu_model, home};
use crate::report::{Report, Section};
use process::Cores;
use race::Pace;

#[derive(Args)]
pub(crate) struct Options {
    /// How often everybody takes a turn: 18 times unless told, 5 in a quick run; half as often where work is slow
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Shorter and fewer rounds, without pict-rs, without 10 million posts and, unless asked for, without PostgreSQL
    #[arg(long)]
    quick: bool,

    /// Only these questions
    #[arg(long, value_delimiter = ',')]
    only: Vec<Question>,

    /// Measure this program instead of building ours
    #[arg(long)]
    binary: Option<PathBuf>,

    /// Compare with other builds of the service: `name=path`, or a path (with the question `builds`)
    #[arg(long, value_parser = builds::parse)]
    against: Vec<(String, PathBuf)>,

    /// Put the result into docs/performance.md
    #[arg(long)]
    write_docs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Question {
    Feed,
    Posts,
    Images,
    Likes,
    Mixed,
    Growth,
    Machines,
    Builds,
}

impl Options {
    /// What takes more than a minute even in a hurry has to be asked for.
    fn asks(&self, question: Question) -> bool {
        let usual = match question {
            Question::Machines => !self.quick,
            Question::Builds => !self.against.is_empty(),
            _ => true,
        };
        if self.only.is_empty() { usual } else { self.only.contains(&question) }
    }

    /// Whether pict-rs is among those who make pictures.
    fn has_pictrs(&self) -> bool {
        !self.quick && self.asks(Question::Images)
    }

    /// What has to be installed besides those that every run has.
    fn rare_peers(&self) -> Vec<&'static str> {
        let postgresql = self.asks(Question::Machines).then_some("postgresql");
        postgresql.into_iter().chain(self.has_pictrs().then_some("pict-rs")).collect()
    }
}

/// Everybody is asked over as many.
const CONNECTIONS: usize = 64;

/// Posts where somebody writes: such a database is copied for every run.
const SMALL: u64 = 100_000;
/// Posts where everybody reads.
const LARGE: u64 = 1_000_000;

/// What every question needs.
#[derive(Clone)]
struct Bench {
    home: PathBuf,
    photos: PathBuf,
    binary: PathBuf,
    /// Builds to compare it with, by name.
    against: Vec<(String, PathBuf)>,
    cores: Cores,
    pace: Pace,
    full: bool,
    has_pictrs: bool,
    posts: u64,
    /// What a sync of the disk takes longer than it does.
    sync_delay: Option<Duration>,
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let started = Instant::now();
    peers::set_up_service(&home(), &options.rare_peers())?;
    let binary = options.binary.clone().map_or_else(ours::build, Ok)?;
    let bench = Bench::open(binary, options)?;
    let mut report = Report { title: "The service".into(), setting: bench.setting()?, sections: Vec::new() };
    println!("{}", report.setting());

    for question in Question::value_variants() {
        if options.asks(*question) {
            for section in bench.answer(*question)? {
                println!("{}", section.markdown());
                report.sections.push(section);
            }
        }
    }
    report.setting.push(("Load average at the end".into(), load_average()?));
    report.setting.push(("Took".into(), format!("{} minutes", started.elapsed().as_secs().div_ceil(60))));
    println!("{}", report.summary());
    let json = serde_json::to_string_pretty(&report).map_err(Error::measure)?;
    write(&home().join("service.json"), json)?;
    write(&home().join("service.md"), report.markdown())?;
    write(&home().join("service.svg"), plot::svg(&report))?;
    println!("Written to target/bench/service.md, service.json and service.svg");
    if options.write_docs {
        docs::write(&report)?;
    }
    Ok(())
}

impl Bench {
    fn open(binary: PathBuf, options: &Options) -> Result<Self, Error> {
        let rounds = options.rounds.unwrap_or(if options.quick { 5 } else { 18 });
        let millis = |quick, full| Duration::from_millis(if options.quick { quick } else { full });
        let home = home().join("service");
        create_folder(&home)?;
        Ok(Self {
            photos: home.with_file_name("photos"),
            home,
            binary,
            against: options.against.clone(),
            cores: Cores::find()?,
            pace: Pace { rounds: rounds.into(), warm_up: millis(150, 200), window: millis(600, 1000) },
            full: !options.quick,
            has_pictrs: options.has_pictrs(),
            posts: LARGE,
            sync_delay: None,
        })
    }

    fn answer(&self, question: Question) -> Result<Vec<Section>, Error> {
        match question {
            Question::Feed => feed::sections(self),
            Question::Posts => Ok(vec![posts::section(self)?]),
            Question::Images => images::sections(self),
            Question::Likes => likes::sections(self),
            Question::Mixed => mixed::sections(self),
            Question::Growth => growth::sections(self),
            Question::Machines => machines::sections(self),
            Question::Builds => builds::sections(self),
        }
    }

    fn setting(&self) -> Result<Vec<(String, String)>, Error> {
        let Pace { rounds, window, .. } = self.pace;
        let mut setting = vec![
            ("CPU", cpu_model()?),
            (
                "Cores",
                format!("servers on {}, the load on {}, unless said", self.cores.server, self.cores.load),
            ),
            (
                "Rounds",
                format!(
                    "{rounds} of {:.1} s each, half as many and longer where work is slow; {CONNECTIONS} connections",
                    window.as_secs_f64()
                ),
            ),
            ("Load average at the start", load_average()?),
            ("nginx", nginx::version()?),
            ("PocketBase", pocketbase::version(self)?),
            ("thumbor", thumbor::version(self)?),
            ("ipx", ipx::version(self)?),
        ];
        if self.has_pictrs {
            setting.push(("pict-rs", pictrs::version(self)?));
        }
        Ok(setting.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn photo(&self, name: &str) -> PathBuf {
        self.photos.join(format!("{name}.jpg"))
    }

    fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// An empty folder for this run.
    fn fresh(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.home.join("run").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(Error::system(folder.display()))?;
        }
        create_folder(&folder)?;
        Ok(folder)
    }

    /// For whatever has to be a process of its own.
    fn ourselves(&self) -> Result<Command, Error> {
        let us = std::env::current_exe().map_err(Error::system("the benchmark's own path"))?;
        Ok(self.program(&us))
    }

    /// The same on a slower disk.
    fn with_syncs_longer_by(&self, delay: Duration) -> Self {
        Self { sync_delay: Some(delay), ..self.clone() }
    }

    fn program(&self, path: &Path) -> Command {
        let Some(delay) = self.sync_delay else { return Command::new(path) };
        let mut command = Command::new("strace");
        // As a daemon it leaves the program where it would be without it, and it stops it at syncs only.
        command.args(["--daemonize", "--follow-forks", "--seccomp-bpf", "--quiet=all", "--output=/dev/null"]);
        command.args([
            "--trace=fsync,fdatasync",
            &format!("--inject=fsync,fdatasync:delay_exit={}", delay.as_micros()),
        ]);
        command.arg(path);
        command
    }
}

/// What else the machine was doing, roughly.
fn load_average() -> Result<String, Error> {
    let words = String::from_utf8_lossy(&read(Path::new("/proc/loadavg"))?).into_owned();
    Ok(words.split_whitespace().take(3).collect::<Vec<_>>().join(", "))
}
