//! One thumbnail of a 12 MP photo, each time in a new process.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Bench;
use crate::engine::{self, SIDE};
use crate::error::{Error, read, write};
use crate::measure::{Candidate, compare, cpu_of, median};
use crate::photos::Photo;
use crate::report::{Cell, Section, Table, Target};
use crate::score::score;

/// What the child process does.
pub(crate) fn one(photo: &Path, out: &Path, side: u16) -> Result<(), Error> {
    write(out, engine::thumbnail(&read(photo)?, side)?)
}

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let program = std::env::current_exe().map_err(Error::system("the benchmark's own path"))?;
    let candidate = |name: &'static str| {
        let program = program.clone();
        Candidate::new(name, move |photo| cpu_of(&mut command(bench, &program, name, photo)))
    };
    let timings = compare(bench.rounds, &bench.photos.twelve, NAMES.map(candidate).into())?;

    let found = NAMES.map(|name| judge(bench, name)).into_iter().collect::<Result<Vec<_>, _>>()?;
    let rows = NAMES.iter().zip(&found).map(|(name, found)| {
        [
            (*name).into(),
            Cell::Integer(middle(found, |file| file.bytes) as u64),
            middle(found, |f| f.score).into(),
        ]
    });
    let tables = vec![Table::new(["candidate", "bytes", "SSIMULACRA2"], rows)];

    let (pinhole, vips) = (&found[0], &found[1]);
    let versus = |with: fn(&File, &File) -> f64| {
        median(&pinhole.iter().zip(vips).map(|(pinhole, vips)| with(pinhole, vips)).collect::<Vec<_>>())
    };
    let targets = vec![
        Target::ratio(
            "a process for one 512²: CPU against vipsthumbnail",
            timings[0].ratio(&timings[1]),
            0.5,
        ),
        Target::at_most(
            "its bytes against vipsthumbnail's",
            versus(|pinhole, vips| pinhole.bytes / vips.bytes),
            1.0,
        ),
        Target::at_least(
            "its SSIMULACRA2 above vipsthumbnail's",
            versus(|pinhole, vips| pinhole.score - vips.score),
            0.0,
        ),
    ];
    let section = Section::new("A 512² JPEG from a 12 MP JPEG, whole process").note(
        "Start, decode, resize, encode and end. Quality against a full decode and a plain Lanczos filter.",
    );
    Ok(Section { timings, tables, targets, ..section })
}

const NAMES: [&str; 5] = ["Pinhole", "vipsthumbnail", "ImageMagick", "Pillow (draft)", "sharp"];

fn command(bench: &Bench, program: &Path, name: &str, photo: &Photo) -> Command {
    let (peers, out, quality) = (&bench.peers, made(bench, name, photo), bench.quality);
    match name {
        "vipsthumbnail" => peers.vipsthumbnail(&photo.path, &out, SIDE, quality),
        "ImageMagick" => peers.imagemagick(&photo.path, &out, SIDE, quality),
        "Pillow (draft)" => peers.pillow_process(&photo.path, &out, SIDE, quality),
        "sharp" => peers.sharp_process(&photo.path, &out, SIDE, quality),
        _ => {
            let mut command = Command::new(program);
            command.arg("one-thumbnail").arg(&photo.path).arg(out).arg(SIDE.to_string());
            command
        }
    }
}

fn made(bench: &Bench, name: &str, photo: &Photo) -> PathBuf {
    bench.photos.out(&format!("{} by {name}.jpg", photo.name))
}

/// One output file of a candidate.
struct File {
    bytes: f64,
    score: f64,
}

fn judge(bench: &Bench, name: &str) -> Result<Vec<File>, Error> {
    let judge = |photo: &Photo| {
        let file = made(bench, name, photo);
        let made = bench.pixels(&file)?;
        let scores =
            bench.references(&photo.path, SIDE)?.into_iter().map(|reference| score(&reference, &made));
        let best = scores.collect::<Result<Vec<_>, _>>()?.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Ok(File { bytes: read(&file)?.len() as f64, score: best })
    };
    bench.photos.twelve.iter().map(judge).collect()
}

fn middle(files: &[File], of: impl Fn(&File) -> f64) -> f64 {
    median(&files.iter().map(of).collect::<Vec<_>>())
}
