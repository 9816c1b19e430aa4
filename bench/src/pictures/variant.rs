//! A size somebody asks for first: from the square that is kept, not from the original.

use imaging::OutputFormat;
use serde_json::json;

use super::Bench;
use crate::engine;
use crate::error::{Error, read};
use crate::measure::{Contender, cpu_here, cpu_of, race};
use crate::photos::{Photo, SHORT_SIDE};
use crate::report::{Bar, Section};

/// The side of the picture, and of the square it is asked to be made from.
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
    let contenders = vec![
        Contender::new("ours", |photo| {
            Ok(cpu_here(|| engine::render(&read(&photo.master(master))?, side, OutputFormat::Jpeg))?.0)
        }),
        Contender::new("sharp from the same square", sharp(true)),
        Contender::new("sharp, fixed Huffman tables", sharp(false)),
        Contender::new("vipsthumbnail from the original", vips),
    ];
    let timings = race(bench.rounds, &bench.photos.twelve, contenders)?;
    let mut bars = Vec::new();
    // The aims are for this size; the larger one is good to know.
    if side == engine::SIDE {
        let ours = &timings[0];
        bars.push(Bar::ratio("512² from 1024²: CPU against sharp", ours.ratio(&timings[1]), 0.5));
        let what = "512² from 1024²: CPU against vipsthumbnail from the original";
        bars.push(Bar::ratio(what, ours.ratio(&timings[3]), 0.08));
    }
    let mut section =
        Section::new(format!("A {side}² JPEG not made before, from the {master}² that is kept"));
    let usual = engine::master_for(SHORT_SIDE, side)?;
    if usual != master {
        section = section
            .note(format!("The service itself takes the {usual}² for this size, which is quicker still."));
    }
    Ok(Section { timings, bars, ..section })
}
