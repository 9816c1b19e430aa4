//! AVIF against WebP and JPEG: the CPU time of encoding and the bytes saved at equal quality.

use imaging::OutputFormat;

use super::Bench;
use super::webp::{File, bytes_at};
use crate::engine;
use crate::error::{Error, read, write};
use crate::measure::{cpu_here, median};
use crate::photos::{Photo, SHORT_SIDE};
use crate::report::{Cell, Section, Table, Target};
use crate::score::{Pixels, score};

const SIDES: [u16; 3] = [320, 640, 1080];

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for side in SIDES {
        let judged = bench.photos.twelve.iter().map(|photo| judge(bench, photo, side));
        let judged = judged.collect::<Result<Vec<_>, _>>()?;
        let middle = |of: fn(&Judged) -> f64| median(&judged.iter().map(of).collect::<Vec<_>>());
        let saved = middle(|judged| 100.0 * (1.0 - judged.avif.bytes / judged.webp_bytes));
        rows.push([
            Cell::Text(format!("{side}²")),
            Cell::Integer(middle(|judged| judged.avif.bytes) as u64),
            middle(|judged| judged.avif.score).into(),
            middle(|judged| judged.ms).into(),
            Cell::Integer(middle(|judged| judged.webp_bytes) as u64),
            Cell::Integer(middle(|judged| judged.jpeg_bytes) as u64),
            saved.into(),
            middle(|judged| 100.0 * (1.0 - judged.avif.bytes / judged.jpeg_bytes)).into(),
        ]);
        let name = format!("bytes that AVIF saves of WebP at equal SSIMULACRA2, {side}², in %");
        targets.push(Target::at_least(&name, saved, 10.0));
    }
    let heads = ["size", "bytes", "SSIMULACRA2", "CPU ms", "WebP", "JPEG", "saved, %", "of JPEG, %"];
    let section = Section::new("AVIF").note(
        "Each from the master that the service renders it from; quality against a lossless resize of that square. WebP \
         and JPEG are their bytes at AVIF's score, read off a ladder of qualities by the same codecs. Medians over the photos.",
    );
    Ok(Section { tables: vec![Table::new(heads, rows)], targets, ..section })
}

struct Judged {
    avif: File,
    ms: f64,
    /// What WebP and JPEG need to be as good as the AVIF.
    webp_bytes: f64,
    jpeg_bytes: f64,
}

fn judge(bench: &Bench, photo: &Photo, side: u16) -> Result<Judged, Error> {
    let path = photo.master(engine::master_for(SHORT_SIDE, side));
    let master = read(&path)?;
    let original = bench.reference(&path, side)?;
    let judged = |name: &str, file: &[u8]| {
        let out = bench.photos.out(name);
        write(&out, file)?;
        let score = score(&original, &bench.pixels(&out)?)?;
        Ok::<_, Error>(File { bytes: file.len() as f64, score })
    };
    let (time, file) = cpu_here(|| engine::render(&master, side, OutputFormat::Avif))?;
    let avif = judged("judged.avif", &file)?;
    let webp = |quality| judged("step.webp", &engine::webp(&original.rgb, side.into(), quality)?);
    let jpeg = |quality| {
        let file = engine::jpeg(&original.rgb, side.into(), quality)?;
        let made = Pixels::new(engine::plain_decode(&file)?)?;
        Ok::<_, Error>(File { bytes: file.len() as f64, score: score(&original, &made)? })
    };
    let webp = (60..=96).step_by(6).map(webp).collect::<Result<Vec<_>, _>>()?;
    let jpeg = (50..=96).step_by(5).map(jpeg).collect::<Result<Vec<_>, _>>()?;
    let (webp_bytes, jpeg_bytes) = (bytes_at(avif.score, &webp)?, bytes_at(avif.score, &jpeg)?);
    Ok(Judged { avif, ms: time.as_secs_f64() * 1000.0, webp_bytes, jpeg_bytes })
}
