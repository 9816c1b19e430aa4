//! The same thumbnail in a process that is already warm.

use serde_json::json;

use super::Bench;
use crate::engine::{self, SIDE};
use crate::error::{Error, read};
use crate::measure::{Candidate, compare, cpu_here};
use crate::photos::Photo;
use crate::report::{Section, Target};

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let square = |photo: &Photo, optimise: bool| json!({ "do": "square", "file": photo.path, "side": SIDE, "quality": bench.quality, "optimise": optimise });
    let sharp = |optimise| move |photo: &Photo| Ok(bench.peers.sharp.ask(&square(photo, optimise))?.cpu);
    let candidates = vec![
        Candidate::new("Pinhole", |photo| Ok(cpu_here(|| engine::thumbnail(&read(&photo.path)?, SIDE))?.0)),
        Candidate::new("sharp", sharp(true)),
        Candidate::new("sharp, fixed Huffman tables", sharp(false)),
        Candidate::new("Pillow (draft)", |photo| Ok(bench.peers.pillow.ask(&square(photo, false))?.cpu)),
    ];
    let timings = compare(bench.rounds, &bench.photos.twelve, candidates)?;
    let targets = vec![Target::ratio(
        "a 512² in a warm process: CPU against sharp",
        timings[0].ratio(&timings[1]),
        1.0,
    )];
    let section = Section::new("A 512² JPEG from a 12 MP JPEG, warm process")
        .note("From a file to a JPEG in memory. sharp uses shrink-on-load, its default.");
    Ok(Section { timings, targets, ..section })
}
