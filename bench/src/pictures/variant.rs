//! A size that is not in the cache, rendered from a master instead of from the original.

use imaging::OutputFormat;
use serde_json::json;

use super::Bench;
use crate::engine;
use crate::error::{Error, read};
use crate::measure::{Candidate, compare, cpu_here, cpu_of};
use crate::photos::{Photo, SHORT_SIDE};
use crate::report::{Section, Target};

/// The side of the image, and of the master it is rendered from.
const CASES: [(u16, u32); 2] = [(512, 1024), (1080, 2048)];

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    CASES.map(|(side, master)| section(bench, side, master)).into_iter().collect()
}

fn section(bench: &Bench, side: u16, master: u32) -> Result<Section, Error> {
    let sharp = |optimise: bool| {
        move |photo: &Photo| {
            let job = json!({
                "do": "square", "file": photo.master(master), "side": side,
                "quality": bench.quality, "optimise": optimise,
            });
            Ok(bench.peers.sharp.ask(&job)?.cpu)
        }
    };
    let vips = |photo: &Photo| {
        let out = bench.photos.out("variant.jpg");
        cpu_of(&mut bench.peers.vipsthumbnail(&photo.path, &out, side, bench.quality))
    };
    let candidates = vec![
        Candidate::new("Pinhole", |photo| {
            Ok(cpu_here(|| engine::render(&read(&photo.master(master))?, side, OutputFormat::Jpeg))?.0)
        }),
        Candidate::new("sharp from the same master", sharp(true)),
        Candidate::new("sharp, fixed Huffman tables", sharp(false)),
        Candidate::new("vipsthumbnail from the original", vips),
    ];
    let timings = compare(bench.rounds, &bench.photos.twelve, candidates)?;
    let mut targets = Vec::new();
    // Only this size has targets; the larger one is reported.
    if side == engine::SIDE {
        let pinhole = &timings[0];
        targets.push(Target::ratio("512² from 1024²: CPU against sharp", pinhole.ratio(&timings[1]), 0.5));
        let what = "512² from 1024²: CPU against vipsthumbnail from the original";
        targets.push(Target::ratio(what, pinhole.ratio(&timings[3]), 0.08));
    }
    let mut section = Section::new(format!("A {side}² JPEG on a cache miss, from the {master}² master"));
    let usual = engine::master_for(SHORT_SIDE, side);
    if usual != master {
        section = section
            .note(format!("The service itself renders this size from the {usual}² master, which is faster."));
    }
    Ok(Section { timings, targets, ..section })
}
