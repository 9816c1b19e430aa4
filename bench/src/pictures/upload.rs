//! Everything that happens to the pixels of an upload.

use serde_json::json;

use super::Bench;
use crate::engine;
use crate::error::{Error, read};
use crate::measure::{Contender, cpu_here, median, race};
use crate::peers::{Answer, Warm};
use crate::photos::Photo;
use crate::report::{Bar, Cell, Section, Table};

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let contenders = vec![
        ours(),
        Contender::new("a plain decode by the same codec", |photo| {
            Ok(cpu_here(|| engine::plain_decode(&read(&photo.path)?))?.0)
        }),
        Contender::new("sharp", |photo| Ok(masters(bench, &bench.peers.sharp, photo, true)?.cpu)),
        Contender::new("sharp, fixed Huffman tables", |photo| {
            Ok(masters(bench, &bench.peers.sharp, photo, false)?.cpu)
        }),
        Contender::new("Pillow", |photo| Ok(masters(bench, &bench.peers.pillow, photo, false)?.cpu)),
    ];
    let timings = race(bench.rounds, &bench.photos.twelve, contenders)?;
    let bars = vec![
        Bar::ratio("an upload: CPU against a plain decode", timings[0].ratio(&timings[1]), 2.0),
        Bar::ratio("an upload: CPU against sharp", timings[0].ratio(&timings[2]), 0.7),
    ];
    let sides: Vec<String> = bench.master_sides().iter().map(u32::to_string).collect();
    let section = Section::new("An upload of a 12 MP JPEG").note(format!(
        "The squares that are kept ({}), each from the next larger, from one decode. Ours also makes the placeholder.",
        sides.join(", ")
    ));
    Ok(Section { timings, bars, tables: vec![bytes(bench)?], ..section })
}

/// What is kept of a photo, all squares together.
fn bytes(bench: &Bench) -> Result<Table, Error> {
    let ours = |photo: &Photo| {
        let masters = engine::ingest(&read(&photo.path)?)?.masters;
        Ok(masters.iter().map(|master| master.bytes.len() as u64).sum())
    };
    let sharp =
        |optimise| move |photo: &Photo| Ok(masters(bench, &bench.peers.sharp, photo, optimise)?.bytes);
    let row = |who: &str, bytes: &dyn Fn(&Photo) -> Result<u64, Error>| {
        let bytes = bench.photos.twelve.iter().map(|photo| bytes(photo).map(|bytes| bytes as f64));
        Ok::<_, Error>([who.into(), Cell::Whole(median(&bytes.collect::<Result<Vec<_>, _>>()?) as u64)])
    };
    let rows = [
        row("ours", &ours)?,
        row("sharp", &sharp(true))?,
        row("sharp, fixed Huffman tables", &sharp(false))?,
    ];
    Ok(Table::new(["who", "bytes kept of a photo"], rows))
}

pub(super) fn ours<'a>() -> Contender<'a> {
    Contender::new("ours", |photo| Ok(cpu_here(|| engine::ingest(&read(&photo.path)?))?.0))
}

/// The same squares by somebody else.
pub(super) fn masters(bench: &Bench, peer: &Warm, photo: &Photo, optimise: bool) -> Result<Answer, Error> {
    let (sides, quality) = (bench.master_sides(), bench.master_quality);
    let job = json!({
        "do": "masters", "file": photo.path, "sides": sides, "quality": quality, "optimise": optimise,
    });
    peer.ask(&job)
}
