//! Uploads of other formats and sizes, reported without targets.

use super::Bench;
use super::upload::{masters, pinhole};
use crate::engine;
use crate::error::{Error, read};
use crate::measure::{Candidate, compare};
use crate::report::Section;

/// The file, what it is, and whether sharp reads it: its own build has no decoder for HEVC.
const FILES: [(&str, &str, bool); 6] = [
    ("20mp.png", "a 20 MP PNG", true),
    ("12mp.webp", "a 12 MP WebP", true),
    ("12mp.avif", "a 12 MP AVIF", true),
    ("12mp.heic", "a 12 MP HEIC", false),
    ("24mp.jpg", "a 24 MP JPEG", true),
    ("64mp.jpg", "a 64 MP JPEG", true),
];

/// Slow files get three rounds at most.
const ROUNDS: usize = 3;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    FILES.map(|(file, words, by_sharp)| section(bench, file, words, by_sharp)).into_iter().collect()
}

fn section(bench: &Bench, file: &str, words: &str, by_sharp: bool) -> Result<Section, Error> {
    let photo = bench.photos.file(file);
    let mut section = Section::new(format!("An upload of {words}"));
    let mut candidates = Vec::new();
    match engine::reads(&read(&photo.path)?)? {
        true => candidates.push(pinhole()),
        false => section = section.note("Pinhole does not read this format."),
    }
    match by_sharp {
        true => candidates
            .push(Candidate::new("sharp", |photo| Ok(masters(bench, &bench.peers.sharp, photo, true)?.cpu))),
        false => section = section.note("sharp as installed does not read this format."),
    }
    candidates
        .push(Candidate::new("Pillow", |photo| Ok(masters(bench, &bench.peers.pillow, photo, false)?.cpu)));
    section.timings = compare(bench.rounds.min(ROUNDS), &[photo], candidates)?;
    Ok(section)
}
