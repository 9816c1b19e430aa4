//! Mutation test: corpus files with bytes changed, removed, duplicated and mixed must be decoded or rejected,
//! within a time limit and the estimated memory. Deterministic; `MUTATIONS` sets the number of mutations and
//! `MUTATIONS_SEED` the seed.

#![allow(clippy::disallowed_methods, reason = "the test bounds real time")]

use std::fs;
use std::panic;
use std::path::Path;
use std::time::{Duration, Instant};

use imaging::{Error, FitMasters, Limits, OutputFormat, ingest, probe, render};
use model::Focus;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A hang, not a speed limit: these small files take some milliseconds each.
const HANG_TIMEOUT: Duration = Duration::from_secs(20);
const LIMITS: Limits = Limits { max_pixels: 1_000_000 };

/// A single test, so no other test allocates at the same time.
#[test]
fn mutated_files_are_decoded_or_rejected_within_time_and_memory_limits() {
    let seeds = corpus();
    assert!(seeds.len() > 100, "the corpus is missing");
    let mut rng = Rng(setting("MUTATIONS_SEED", 0x2545_F491_4F6C_DD1D) | 1);
    let (mut decoded, mut rejected, mut codec_panics) = (0, 0, 0);
    // Codec panics are caught; their messages would hide other output.
    panic::set_hook(Box::new(|_| {}));
    for index in 0..setting("MUTATIONS", 40_000) {
        let (name, seed) = &seeds[rng.below(seeds.len())];
        let file = rng.mutate(seed, &seeds);
        let started = Instant::now();
        let result = panic::catch_unwind(|| check_file(&file));
        let result = result.unwrap_or_else(|_| Err(Rejection::Bug("a panic was not caught".to_owned())));
        let what = format!("mutation {index} of {name}");
        assert!(started.elapsed() < HANG_TIMEOUT, "{what}: took {:?}", started.elapsed());
        match result {
            Ok(()) => decoded += 1,
            Err(Rejection::CodecPanic) => codec_panics += 1,
            Err(Rejection::Expected) => rejected += 1,
            Err(Rejection::Bug(cause)) => {
                let path = std::env::temp_dir().join("pinhole-mutation");
                fs::write(&path, &file).expect("a writable temporary folder");
                eprintln!("{what}: {cause}; the file is in {}", path.display());
                std::process::exit(1);
            }
        }
    }
    drop(panic::take_hook());
    println!("{decoded} decoded, {rejected} rejected, {codec_panics} codec panics caught");
    assert!(decoded > 1000 && rejected > 1000, "{decoded} decoded, {rejected} rejected");
    // A few codec panics are expected. Many would mean that a check of this crate is missing.
    assert!(codec_panics * 500 <= decoded + rejected, "{codec_panics} codec panics");
}

enum Rejection {
    Expected,
    CodecPanic,
    Bug(String),
}

fn check_file(file: &[u8]) -> Result<(), Rejection> {
    let probed = probe(file, &LIMITS);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let ingested = ingest(file, Focus::CENTRE, FitMasters::All, &LIMITS);
    let peak = ALLOCATOR.peak_usage().saturating_sub(before) as u64;

    let estimate = probed.as_ref().map_or(1 << 20, |probe| probe.memory);
    if peak > estimate {
        return Err(Rejection::Bug(format!("peak of {peak} bytes, estimate {estimate}")));
    }
    let ingested = match ingested {
        Ok(ingested) => ingested,
        Err(Error::Internal(cause)) => return Err(Rejection::Bug(cause)),
        Err(Error::Damaged(cause)) if cause.contains("panicked") => return Err(Rejection::CodecPanic),
        Err(_) => return Err(Rejection::Expected),
    };
    let bug = |cause: &str| Rejection::Bug(cause.to_owned());
    let probed = probed.map_err(|_| bug("decoded, though probe rejected it"))?;
    if (probed.width, probed.height) != (ingested.width, ingested.height) {
        return Err(bug("probe and ingest return different sizes"));
    }
    let size = (32, 32);
    for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
        render(&ingested.masters.squares[0].bytes, size, format).map_err(|error| bug(&error.to_string()))?;
    }
    // The stored original must be decodable, and contain nothing more to strip.
    match ingest(&ingested.original.bytes, Focus::CENTRE, FitMasters::All, &LIMITS) {
        Ok(again) if again.original.bytes != ingested.original.bytes => {
            Err(bug("stripping the original again changes it"))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(bug(&format!("the original cannot be ingested: {error:?}"))),
    }
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files = Vec::new();
    for group in ["jpeg", "png", "webp", "gif", "avif", "heic", "orientation", "profiles", "hdr", "damaged"] {
        for entry in fs::read_dir(folder.join(group)).expect("a folder of the corpus") {
            let path = entry.expect("a file").path();
            let name = format!("{group}/{}", path.file_name().expect("a name").to_string_lossy());
            files.push((name, fs::read(path).expect("its bytes")));
        }
    }
    // Directory order is arbitrary.
    files.sort();
    files
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn mutate(&mut self, seed: &[u8], others: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut file = seed.to_vec();
        for _ in 0..=self.below(6) {
            if file.is_empty() {
                break;
            }
            // Half of the mutations hit the first 300 bytes, because a uniform offset rarely hits the header.
            let range = if self.below(2) == 0 { 300 } else { file.len() };
            let offset = self.below(range.min(file.len()));
            match self.below(12) {
                0..=3 => file[offset] = self.next() as u8,
                4 | 5 => file[offset] ^= 1 << self.below(8),
                6 => file[offset] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][self.below(6)],
                7 => file.truncate(offset),
                8 => {
                    let end = (offset + self.below(40)).min(file.len());
                    file.drain(offset..end);
                }
                9 => {
                    let end = (offset + self.below(40)).min(file.len());
                    let piece = file[offset..end].to_vec();
                    file.splice(offset..offset, piece);
                }
                10 => {
                    let end = (offset + 4).min(file.len());
                    let number = self.next().to_be_bytes();
                    file[offset..end].copy_from_slice(&number[..end - offset]);
                }
                _ => {
                    let (_, other) = &others[self.below(others.len())];
                    let from = self.below(other.len());
                    let piece = other[from..(from + self.below(200)).min(other.len())].to_vec();
                    let end = (offset + piece.len()).min(file.len());
                    file.splice(offset..end, piece);
                }
            }
        }
        file
    }
}
