//! The same thumbnail inside a process that has made others before.

use serde_json::json;

use super::Bench;
use crate::engine::{self, SIDE};
use crate::error::{Error, read};
use crate::measure::{Contender, cpu_here, race};
use crate::photos::Photo;
use crate::report::{Bar, Section};

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let square = |photo: &Photo, optimise: bool| json!({ "do": "square", "file": photo.path, "side": SIDE, "quality": bench.quality, "optimise": optimise });
    let sharp = |optimise| move |photo: &Photo| Ok(bench.peers.sharp.ask(&square(photo, optimise))?.cpu);
    let contenders = vec![
        Contender::new("ours", |photo| Ok(cpu_here(|| engine::thumbnail(&read(&photo.path)?, SIDE))?.0)),
        Contender::new("sharp", sharp(true)),
        Contender::new("sharp, fixed Huffman tables", sharp(false)),
        Contender::new("Pillow (draft)", |photo| Ok(bench.peers.pillow.ask(&square(photo, false))?.cpu)),
    ];
    let timings = race(bench.rounds, &bench.photos.twelve, contenders)?;
    let bars =
        vec![Bar::ratio("a 512² in a warm process: CPU against sharp", timings[0].ratio(&timings[1]), 1.0)];
    let section = Section::new("A 512² JPEG from a 12 MP JPEG, warm process")
        .note("From a file to a file in memory. sharp shrinks while decoding, as it does by itself.");
    Ok(Section { timings, bars, ..section })
}
