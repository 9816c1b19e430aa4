//! The most memory one upload takes.

use std::path::Path;
use std::process::Command;

use super::Bench;
use crate::engine;
use crate::error::{Error, read};
use crate::measure::median;
use crate::report::{Cell, Section, Table};

const FILES: [(&str, &str); 5] = [
    ("1mp.jpg", "1 MP JPEG"),
    ("dragonfly.jpg", "12 MP JPEG"),
    ("24mp.jpg", "24 MP JPEG"),
    ("64mp.jpg", "64 MP JPEG"),
    ("20mp.png", "20 MP PNG"),
];

const TIMES: usize = 3;

/// Runs in the child process: ingests the photo, if given, and prints the peak memory.
pub(crate) fn one(photo: Option<&Path>) -> Result<(), Error> {
    if let Some(photo) = photo {
        let ingested = engine::ingest(&read(photo)?)?;
        std::hint::black_box(ingested);
    }
    println!("{}", peak_kib()?);
    Ok(())
}

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let nothing = peak_of(None)?;
    let mut rows = Vec::new();
    for (file, words) in FILES {
        let photo = bench.photos.file(file).path;
        let size = read(&photo)?.len() as f64;
        let peak = peak_of(Some(&photo))? - nothing;
        rows.push([words.into(), mib(size), mib(peak)]);
    }
    let section = Section::new("Memory of one upload")
        .note("The peak of a process that does one upload, the file's own bytes included, minus that of an idle process.");
    Ok(Section { tables: vec![Table::new(["photo", "file, MiB", "peak, MiB"], rows)], ..section })
}

fn mib(bytes: f64) -> Cell {
    (bytes / f64::from(1 << 20)).into()
}

/// In bytes.
fn peak_of(photo: Option<&Path>) -> Result<f64, Error> {
    let program = std::env::current_exe().map_err(Error::system("the benchmark's own path"))?;
    let peaks = (0..TIMES).map(|_| {
        let output = Command::new(&program).arg("one-upload").args(photo).output();
        let output = output.map_err(Error::system("one upload"))?;
        let words = String::from_utf8_lossy(&output.stdout);
        words.trim().parse::<f64>().map_err(|_| {
            Error::Measure(format!("one upload failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
        })
    });
    Ok(median(&peaks.collect::<Result<Vec<_>, _>>()?) * 1024.0)
}

fn peak_kib() -> Result<u64, Error> {
    let status = read(Path::new("/proc/self/status"))?;
    let status = String::from_utf8_lossy(&status);
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches("kB").trim_end().parse().ok());
    peak.ok_or_else(|| Error::measure("the system does not report the peak memory of a process"))
}
