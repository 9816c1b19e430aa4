//! An image of the whole photo against a square with as many pixels, each from its master.

use imaging::OutputFormat;

use super::Bench;
use crate::engine::{self, FORMATS};
use crate::error::{Error, read};
use crate::measure::{Candidate, compare, cpu_here};
use crate::photos::{SHORT_SIDE, SIZE};
use crate::report::{Section, Target};

/// The longest sides.
const LONGEST: [u16; 4] = [256, 640, 1080, 2048];

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let cases = LONGEST.into_iter().flat_map(|longest| FORMATS.map(|format| (longest, format)));
    let sections = cases.map(|(longest, format)| section(bench, longest, format));
    // Rendered from the original, so it has no target.
    sections.chain([from_the_original(bench)]).collect()
}

fn section(bench: &Bench, longest: u16, format: OutputFormat) -> Result<Section, Error> {
    let side = equal_side(longest);
    let candidates = vec![
        Candidate::new("the whole photo", |photo| {
            let master = read(&photo.fit_master(engine::fit_master_for(SIZE, longest)))?;
            Ok(cpu_here(|| engine::render_fit(&master, engine::fit_dimensions(SIZE, longest), format))?.0)
        }),
        Candidate::new("a square", |photo| {
            let master = read(&photo.master(engine::master_for(SHORT_SIDE, side)))?;
            Ok(cpu_here(|| engine::render(&master, side, format))?.0)
        }),
    ];
    let timings = compare(bench.rounds, &bench.photos.twelve, candidates)?;
    let name = format.name();
    let what = format!("the whole photo at {longest} as {name}: CPU against a square of equal pixels");
    let targets = vec![Target::ratio(&what, timings[0].ratio(&timings[1]), 1.2)];
    let title = format!("The whole photo, {longest} pixels long, as {name}");
    let note = format!("Against a square of {side}², which has as many pixels.");
    Ok(Section { timings, targets, ..Section::new(title).note(note) })
}

fn from_the_original(bench: &Bench) -> Result<Section, Error> {
    let candidates = vec![
        Candidate::new("4032 pixels, from the original", |photo| {
            Ok(cpu_here(|| engine::render_original(&read(&photo.path)?, SIZE))?.0)
        }),
        Candidate::new("a plain decode by the same codec", |photo| {
            Ok(cpu_here(|| engine::plain_decode(&read(&photo.path)?))?.0)
        }),
    ];
    let timings = compare(bench.rounds, &bench.photos.twelve, candidates)?;
    let section = Section::new("The whole photo beyond its largest master, as jpeg");
    Ok(Section { timings, ..section.note("A 12 MP photo at its full size.") })
}

/// The even side of a square with as many pixels as the whole photo.
fn equal_side(longest: u16) -> u16 {
    let (width, height) = engine::fit_dimensions(SIZE, longest);
    let side = (width * height).isqrt().next_multiple_of(2);
    u16::try_from(side).unwrap_or(u16::MAX)
}
