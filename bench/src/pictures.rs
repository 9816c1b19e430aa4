//! The picture engine against others: same files, one thread, CPU time.

pub(crate) mod memory;
mod others;
mod sizes;
pub(crate) mod thumbnail;
mod upload;
mod variant;
mod warm;
mod webp;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::error::{Error, read, write};
use crate::measure::stay_on_one_core;
use crate::peers::{self, Peers};
use crate::photos::Photos;
use crate::report::{Report, Section};
use crate::score::{Pixels, jpeg_quality};
use crate::{engine, photos};

#[derive(Args)]
pub(crate) struct Options {
    /// How often everybody takes a turn: 7 unless told, 3 in a quick run
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Fewer photos and rounds
    #[arg(long)]
    quick: bool,

    /// Only these questions
    #[arg(long, value_delimiter = ',')]
    only: Vec<Question>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Question {
    Thumbnail,
    Warm,
    Upload,
    Variant,
    Webp,
    Others,
    Memory,
    Sizes,
}

/// What every question needs.
struct Bench {
    rounds: usize,
    peers: Peers,
    photos: Photos,
    /// Of the JPEG files the peers serve.
    quality: u8,
    /// Of those the engine serves.
    served_quality: u8,
    /// Of those the engine keeps; the peers use the same.
    master_quality: u8,
}

/// The number means something else to each of them, so bytes and scores are what is compared. With this one
/// the peers' files are as long as ours.
pub(crate) const PEERS_QUALITY: u8 = 82;

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let home = home();
    peers::set_up(&home)?;
    let core = stay_on_one_core()?;
    let bench = Bench::open(&home, options)?;
    let mut report = Report { title: "Pictures".into(), setting: bench.setting(core)?, sections: Vec::new() };
    println!("{}", report.setting());

    for question in Question::value_variants() {
        if options.only.is_empty() || options.only.contains(question) {
            for section in bench.answer(*question)? {
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

impl Bench {
    fn open(home: &Path, options: &Options) -> Result<Self, Error> {
        let photos = Photos::open(home, options.quick)?;
        let first = photos.twelve.first().ok_or_else(|| Error::measure("there are no photos"))?;
        let master = read(&first.master(1024))?;
        let served = engine::render(&master, engine::SIDE, imaging::OutputFormat::Jpeg)?;
        let rounds = options.rounds.unwrap_or(if options.quick { 3 } else { 7 });
        Ok(Self {
            rounds: rounds.into(),
            peers: Peers::start(home)?,
            quality: PEERS_QUALITY,
            served_quality: jpeg_quality(&served)?,
            master_quality: jpeg_quality(&master)?,
            photos,
        })
    }

    fn answer(&self, question: Question) -> Result<Vec<Section>, Error> {
        match question {
            Question::Thumbnail => Ok(vec![thumbnail::section(self)?]),
            Question::Warm => Ok(vec![warm::section(self)?]),
            Question::Upload => Ok(vec![upload::section(self)?]),
            Question::Variant => variant::sections(self),
            Question::Webp => Ok(vec![webp::section(self)?]),
            Question::Others => others::sections(self),
            Question::Memory => Ok(vec![memory::section(self)?]),
            Question::Sizes => Ok(vec![sizes::section(self)?]),
        }
    }

    fn setting(&self, core: usize) -> Result<Vec<(String, String)>, Error> {
        let names: Vec<&str> = self.photos.twelve.iter().map(|photo| photo.name.as_str()).collect();
        let mut setting = vec![
            ("CPU".to_owned(), format!("{}, everything on core {core}", cpu_model()?)),
            ("Rounds".to_owned(), self.rounds.to_string()),
            ("Photos of 12 MP".to_owned(), names.join(", ")),
            (
                "JPEG quality".to_owned(),
                format!(
                    "{} served by us and {} by the others, {} kept",
                    self.served_quality, self.quality, self.master_quality
                ),
            ),
        ];
        setting.extend(self.peers.versions()?.into_iter().map(|(name, version)| (name.to_owned(), version)));
        Ok(setting)
    }

    /// The pixels of a square file, by a decoder that is not ours.
    fn pixels(&self, file: &Path) -> Result<Pixels, Error> {
        self.resized(file, None, None)
    }

    /// What a square should look like: from all pixels, by a plain Lanczos filter, without loss.
    fn reference(&self, file: &Path, side: u16) -> Result<Pixels, Error> {
        self.resized(file, Some(side), None)
    }

    /// The same for a picture that is not square, wherever one may find its centre: exactly, or up to half
    /// a pixel beside it. Nobody sees that, but the score would.
    fn references(&self, file: &Path, side: u16) -> Result<Vec<Pixels>, Error> {
        [None, Some(0), Some(1)].into_iter().map(|cut| self.resized(file, Some(side), cut)).collect()
    }

    fn resized(&self, file: &Path, side: Option<u16>, cut: Option<u8>) -> Result<Pixels, Error> {
        let out = self.photos.out("pixels.rgb");
        let job = json!({ "do": "reference", "file": file, "side": side, "cut": cut, "out": out });
        self.peers.pillow.ask(&job)?;
        Pixels::new(read(&out)?)
    }

    /// The sides of the masters of a 12 MP photo.
    fn master_sides(&self) -> Vec<u32> {
        engine::master_sides(photos::SHORT_SIDE)
    }
}

pub(crate) fn cpu_model() -> Result<String, Error> {
    let info = String::from_utf8_lossy(&read(Path::new("/proc/cpuinfo"))?).into_owned();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    Ok(model.map_or("unknown".into(), |model| model.trim_start_matches([' ', '\t', ':']).to_owned()))
}
