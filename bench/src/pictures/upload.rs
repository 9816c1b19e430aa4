//! Everything that happens to the pixels of an upload.

use serde_json::json;

use super::Bench;
use crate::engine;
use crate::error::{Error, read};
use crate::measure::{Candidate, compare, cpu_here, median};
use crate::peers::{Answer, Warm};
use crate::photos::{Photo, SIZE};
use crate::report::{Cell, Section, Table, Target};

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let candidates = vec![
        pinhole(),
        Candidate::new("a plain decode by the same codec", |photo| {
            Ok(cpu_here(|| engine::plain_decode(&read(&photo.path)?))?.0)
        }),
        Candidate::new("sharp", |photo| Ok(masters(bench, &bench.peers.sharp, photo, true)?.cpu)),
        Candidate::new("sharp, fixed Huffman tables", |photo| {
            Ok(masters(bench, &bench.peers.sharp, photo, false)?.cpu)
        }),
        Candidate::new("Pillow", |photo| Ok(masters(bench, &bench.peers.pillow, photo, false)?.cpu)),
    ];
    let timings = compare(bench.rounds, &bench.photos.twelve, candidates)?;
    let targets = vec![
        Target::ratio("an upload: CPU against a plain decode", timings[0].ratio(&timings[1]), 2.0),
        Target::ratio("an upload: CPU against sharp", timings[0].ratio(&timings[2]), 0.7),
    ];
    let names = |sides: &[u32]| sides.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let section = Section::new("An upload of a 12 MP JPEG").note(format!(
        "The masters, squares ({}) and the whole photo ({}), each from the next larger one, from one decode. Pinhole \
         also makes the placeholder.",
        names(&bench.master_sides()),
        names(&engine::fit_master_sides(SIZE)),
    ));
    Ok(Section { timings, targets, tables: vec![bytes(bench)?], ..section })
}

/// The bytes of all masters of a photo.
fn bytes(bench: &Bench) -> Result<Table, Error> {
    let pinhole = |photo: &Photo| {
        let masters = engine::ingest(&read(&photo.path)?)?.masters;
        Ok(masters.squares.iter().chain(&masters.fits).map(|master| master.bytes.len() as u64).sum())
    };
    let sharp =
        |optimise| move |photo: &Photo| Ok(masters(bench, &bench.peers.sharp, photo, optimise)?.bytes);
    let row = |name: &str, bytes: &dyn Fn(&Photo) -> Result<u64, Error>| {
        let bytes = bench.photos.twelve.iter().map(|photo| bytes(photo).map(|bytes| bytes as f64));
        Ok::<_, Error>([name.into(), Cell::Integer(median(&bytes.collect::<Result<Vec<_>, _>>()?) as u64)])
    };
    let rows = [
        row("Pinhole", &pinhole)?,
        row("sharp", &sharp(true))?,
        row("sharp, fixed Huffman tables", &sharp(false))?,
    ];
    Ok(Table::new(["candidate", "bytes of all masters"], rows))
}

pub(super) fn pinhole<'a>() -> Candidate<'a> {
    Candidate::new("Pinhole", |photo| Ok(cpu_here(|| engine::ingest(&read(&photo.path)?))?.0))
}

/// The same masters, made by a peer.
pub(super) fn masters(bench: &Bench, peer: &Warm, photo: &Photo, optimise: bool) -> Result<Answer, Error> {
    let job = json!({
        "do": "masters", "file": photo.path, "sides": bench.master_sides(), "fits": engine::fit_master_sides(SIZE),
        "quality": bench.master_quality, "optimise": optimise,
    });
    peer.ask(&job)
}
