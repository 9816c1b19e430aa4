//! The service against its limits and its peers: requests a second, CPU time, latency.

pub(crate) mod bare;
mod bench;
mod builds;
mod communities;
pub(crate) mod compare;
mod docs;
mod feed;
mod fill;
mod floods;
mod growth;
mod histogram;
mod images;
mod ipx;
mod likes;
mod load;
mod mixed;
mod nginx;
mod pgbench;
mod pictrs;
mod pinhole;
mod plot;
mod pocketbase;
mod postgres;
mod postgres_server;
mod posts;
mod process;
mod sqlite;
mod thumbor;
mod web;
mod wire;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::error::{Error, create_folder, read, write};
use crate::peers;
use crate::pictures::{cpu_model, home};
use crate::report::{Report, Section};
use bench::{Bench, CONNECTIONS, LARGE, SMALL};
use compare::Pace;
use process::Cores;

#[derive(Args)]
pub(crate) struct Options {
    /// Rounds of each comparison [default: 18, or 5 with --quick]; half as many where work is slow
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Shorter and fewer rounds, without pict-rs, without 10 million posts and, unless asked for, without
    /// PostgreSQL
    #[arg(long)]
    quick: bool,

    /// Only these sections
    #[arg(long, value_delimiter = ',')]
    only: Vec<Question>,

    /// Measure this binary instead of building one
    #[arg(long)]
    binary: Option<PathBuf>,

    /// Compare with other builds of the service: `name=path`, or a path (with the section `builds`)
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
    Pages,
    Images,
    Likes,
    Mixed,
    Floods,
    Communities,
    Growth,
    Postgres,
    Builds,
}

impl Options {
    /// Sections that take more than a minute even with --quick run only when named.
    fn asks(&self, question: Question) -> bool {
        let usual = match question {
            Question::Postgres => !self.quick,
            Question::Builds => !self.against.is_empty(),
            _ => true,
        };
        if self.only.is_empty() { usual } else { self.only.contains(&question) }
    }

    /// Whether pict-rs takes part.
    fn has_pictrs(&self) -> bool {
        !self.quick && self.asks(Question::Images)
    }

    /// Peers that only some runs need.
    fn optional_peers(&self) -> Vec<&'static str> {
        let postgresql = self.asks(Question::Postgres).then_some("postgresql");
        postgresql.into_iter().chain(self.has_pictrs().then_some("pict-rs")).collect()
    }
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let started = Instant::now();
    peers::set_up_service(&home(), &options.optional_peers())?;
    let binary = options.binary.clone().map_or_else(pinhole::build, Ok)?;
    let bench = open(binary, options)?;
    let mut report = Report { title: "The service".into(), setting: setting(&bench)?, sections: Vec::new() };
    println!("{}", report.setting());

    for question in Question::value_variants() {
        if options.asks(*question) {
            for section in answer(&bench, *question)? {
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
    write(&home().join("service.svg"), plot::svg(&report.sections))?;
    println!("Written to target/bench/service.md, service.json and service.svg");
    if options.write_docs {
        docs::write(&report)?;
    }
    Ok(())
}

fn open(binary: PathBuf, options: &Options) -> Result<Bench, Error> {
    let rounds = options.rounds.unwrap_or(if options.quick { 5 } else { 18 });
    let millis = |quick, full| Duration::from_millis(if options.quick { quick } else { full });
    let home = home().join("service");
    create_folder(&home)?;
    Ok(Bench {
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

fn answer(bench: &Bench, question: Question) -> Result<Vec<Section>, Error> {
    match question {
        Question::Feed => feed::sections(bench),
        Question::Posts => Ok(vec![posts::section(bench)?]),
        Question::Pages => web::sections(bench),
        Question::Images => images::sections(bench),
        Question::Likes => likes::sections(bench),
        Question::Mixed => mixed::sections(bench),
        Question::Floods => Ok(vec![floods::section(bench)?]),
        Question::Communities => communities::sections(bench),
        Question::Growth => growth::sections(bench),
        Question::Postgres => postgres::sections(bench),
        Question::Builds => builds::sections(bench),
    }
}

fn setting(bench: &Bench) -> Result<Vec<(String, String)>, Error> {
    let Pace { rounds, window, .. } = bench.pace;
    let mut setting = vec![
        ("CPU", cpu_model()?),
        (
            "Cores",
            format!(
                "servers on {}, the load on {}, unless a section says otherwise",
                bench.cores.server, bench.cores.load
            ),
        ),
        (
            "Rounds",
            format!(
                "{rounds} of {:.1} s each, half as many and twice as long where work is slow; {CONNECTIONS} connections",
                window.as_secs_f64()
            ),
        ),
        ("Load average at the start", load_average()?),
        ("nginx", nginx::version()?),
        ("PocketBase", pocketbase::version(bench)?),
        ("thumbor", thumbor::version(bench)?),
        ("ipx", ipx::version(bench)?),
    ];
    if bench.has_pictrs {
        setting.push(("pict-rs", pictrs::version(bench)?));
    }
    Ok(setting.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn load_average() -> Result<String, Error> {
    let words = String::from_utf8_lossy(&read(Path::new("/proc/loadavg"))?).into_owned();
    Ok(words.split_whitespace().take(3).collect::<Vec<_>>().join(", "))
}
