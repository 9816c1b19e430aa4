//! The picture engine against others: same files, one thread, CPU time.

mod avif;
mod bench;
mod fit;
mod formats;
pub(crate) mod memory;
mod sizes;
pub(crate) mod thumbnail;
mod upload;
mod variant;
mod warm;
mod webp;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::error::{Error, read, write};
use crate::measure::stay_on_one_core;
use crate::peers;
use crate::report::{Report, Section};
use bench::Bench;
pub(crate) use bench::PEERS_QUALITY;

#[derive(Args)]
pub(crate) struct Options {
    /// Rounds of each comparison [default: 7, or 3 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Fewer photos and rounds
    #[arg(long)]
    quick: bool,

    /// Only these sections
    #[arg(long, value_delimiter = ',')]
    only: Vec<Question>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Question {
    Thumbnail,
    Warm,
    Upload,
    Variant,
    Fit,
    Webp,
    Avif,
    Formats,
    PeakMemory,
    Sizes,
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let home = home();
    peers::set_up(&home)?;
    let core = stay_on_one_core()?;
    let bench = Bench::open(&home, options.rounds, options.quick)?;
    let mut report = Report {
        title: "Pictures".into(),
        setting: bench.setting(core, &cpu_model()?)?,
        sections: Vec::new(),
    };
    println!("{}", report.setting());

    for question in Question::value_variants() {
        if options.only.is_empty() || options.only.contains(question) {
            for section in answer(&bench, *question)? {
                println!("{}", section.markdown());
                report.sections.push(section);
            }
        }
    }
    println!("{}", report.summary());
    let json = serde_json::to_string_pretty(&report).map_err(Error::measure)?;
    write(&home.join("pictures.json"), json)?;
    write(&home.join("pictures.md"), report.markdown())?;
    println!("Written to target/bench/pictures.md and pictures.json");
    Ok(())
}

/// In the folder that Cargo makes and `cargo clean` empties.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("target").join("bench")
}

fn answer(bench: &Bench, question: Question) -> Result<Vec<Section>, Error> {
    match question {
        Question::Thumbnail => Ok(vec![thumbnail::section(bench)?]),
        Question::Warm => Ok(vec![warm::section(bench)?]),
        Question::Upload => Ok(vec![upload::section(bench)?]),
        Question::Variant => variant::sections(bench),
        Question::Fit => fit::sections(bench),
        Question::Webp => Ok(vec![webp::section(bench)?]),
        Question::Avif => Ok(vec![avif::section(bench)?]),
        Question::Formats => formats::sections(bench),
        Question::PeakMemory => Ok(vec![memory::section(bench)?]),
        Question::Sizes => Ok(vec![sizes::section(bench)?]),
    }
}

pub(crate) fn cpu_model() -> Result<String, Error> {
    let info = String::from_utf8_lossy(&read(Path::new("/proc/cpuinfo"))?).into_owned();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    Ok(model.map_or("unknown".into(), |model| model.trim_start_matches([' ', '\t', ':']).to_owned()))
}
