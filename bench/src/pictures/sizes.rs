//! What each format costs and gives at each size.

use imaging::OutputFormat;

use super::Bench;
use crate::engine::{self, FORMATS};
use crate::error::{Error, read, write};
use crate::measure::{cpu_here, median};
use crate::photos::{Photo, SHORT_SIDE};
use crate::report::{Cell, Section, Table};
use crate::score::score;

const SIDES: [u16; 6] = [64, 128, 256, 512, 1080, 2048];

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let mut rows = Vec::new();
    for side in SIDES {
        for format in FORMATS {
            rows.push(row(bench, side, format)?);
        }
    }
    let section = Section::new("Sizes and formats").note(
        "Each from the master that the service renders it from; quality against a lossless resize of that square. \
         Medians over the photos. SSIMULACRA2 is not calibrated for images as small as 64².",
    );
    Ok(Section {
        tables: vec![Table::new(["size", "format", "bytes", "CPU ms", "SSIMULACRA2"], rows)],
        ..section
    })
}

fn row(bench: &Bench, side: u16, format: OutputFormat) -> Result<[Cell; 5], Error> {
    let made = bench.photos.twelve.iter().map(|photo| make(bench, photo, side, format));
    let made = made.collect::<Result<Vec<_>, _>>()?;
    let middle = |of: fn(&Made) -> f64| median(&made.iter().map(of).collect::<Vec<_>>());
    Ok([
        Cell::Text(format!("{side}²")),
        format.name().into(),
        Cell::Integer(middle(|made| made.bytes) as u64),
        middle(|made| made.ms).into(),
        middle(|made| made.score).into(),
    ])
}

struct Made {
    bytes: f64,
    ms: f64,
    score: f64,
}

fn make(bench: &Bench, photo: &Photo, side: u16, format: OutputFormat) -> Result<Made, Error> {
    let path = photo.master(engine::master_for(SHORT_SIDE, side));
    let master = read(&path)?;
    let mut times = Vec::new();
    let mut file = Vec::new();
    for _ in 0..bench.rounds {
        let (time, made) = cpu_here(|| engine::render(&master, side, format))?;
        times.push(time.as_secs_f64() * 1000.0);
        file = made;
    }
    let out = bench.photos.out(&format!("sized.{}", format.name()));
    write(&out, &file)?;
    let score = score(&bench.reference(&path, side)?, &bench.pixels(&out)?)?;
    Ok(Made { bytes: file.len() as f64, ms: median(&times), score })
}
