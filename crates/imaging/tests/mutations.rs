//! Files of the corpus with bytes changed, cut out, doubled and mixed up: whatever comes, the answer is a
//! picture or a refusal, in time and within the memory announced. The same damage at every run;
//! `MUTATIONS` asks for more of it, and `MUTATIONS_SEED` for other.

#![allow(clippy::disallowed_methods, reason = "the test bounds real time")]

use std::fs;
use std::panic;
use std::path::Path;
use std::time::{Duration, Instant};

use imaging::{Error, Limits, OutputFormat, ingest, probe, render};
use model::Size;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Small files of small pictures: none takes more than some milliseconds, so this is no measure of speed.
const HANGS: Duration = Duration::from_secs(20);
const LIMITS: Limits = Limits { max_pixels: 1_000_000 };

/// One test, so that nothing is counted that runs beside it.
#[test]
fn damage_is_answered_in_time_and_within_bounds() {
    let seeds = corpus();
    assert!(seeds.len() > 100, "the corpus is missing");
    let mut chance = Chance(setting("MUTATIONS_SEED", 0x2545_F491_4F6C_DD1D) | 1);
    let (mut read, mut refused, mut caught) = (0, 0, 0);
    // The codecs' own panics are caught; their stories would hide anything else.
    panic::set_hook(Box::new(|_| {}));
    for number in 0..setting("MUTATIONS", 40_000) {
        let (name, seed) = &seeds[chance.below(seeds.len())];
        let file = chance.mutate(seed, &seeds);
        let started = Instant::now();
        let outcome = panic::catch_unwind(|| attempt(&file));
        let outcome = outcome.unwrap_or_else(|_| Err(Refusal::Wrong("a panic came through".to_owned())));
        let what = format!("mutation {number} of {name}");
        assert!(started.elapsed() < HANGS, "{what}: took {:?}", started.elapsed());
        match outcome {
            Ok(()) => read += 1,
            Err(Refusal::Caught) => caught += 1,
            Err(Refusal::Fair) => refused += 1,
            Err(Refusal::Wrong(why)) => {
                let kept = std::env::temp_dir().join("pinhole-mutation");
                fs::write(&kept, &file).expect("a place for the file");
                eprintln!("{what}: {why}; the file is in {}", kept.display());
                std::process::exit(1);
            }
        }
    }
    drop(panic::take_hook());
    println!("{read} read, {refused} refused, {caught} panics of codecs caught");
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
    // A few are the codecs' business. Many would mean that a check of ours is missing.
    assert!(caught * 500 <= read + refused, "{caught} panics of codecs");
}

enum Refusal {
    Fair,
    Caught,
    Wrong(String),
}

fn attempt(file: &[u8]) -> Result<(), Refusal> {
    let probed = probe(file, &LIMITS);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let ingested = ingest(file, &LIMITS);
    let taken = ALLOCATOR.peak_usage().saturating_sub(before) as u64;

    let announced = probed.as_ref().map_or(1 << 20, |probe| probe.memory);
    if taken > announced {
        return Err(Refusal::Wrong(format!("{taken} bytes taken, {announced} announced")));
    }
    let ingested = match ingested {
        Ok(ingested) => ingested,
        Err(Error::Internal(cause)) => return Err(Refusal::Wrong(cause)),
        Err(Error::Damaged(cause)) if cause.contains("panicked") => return Err(Refusal::Caught),
        Err(_) => return Err(Refusal::Fair),
    };
    let wrong = |why: &str| Refusal::Wrong(why.to_owned());
    let probed = probed.map_err(|_| wrong("read, though its header was refused"))?;
    if (probed.width, probed.height) != (ingested.width, ingested.height) {
        return Err(wrong("another size than announced"));
    }
    let size = Size::new(32).expect("a size");
    for format in [OutputFormat::Jpeg, OutputFormat::WebP] {
        render(&ingested.masters[0].bytes, size, format).map_err(|error| wrong(&error.to_string()))?;
    }
    // What is kept must be readable for ever, and hold nothing that could be stripped yet.
    match ingest(&ingested.original.bytes, &LIMITS) {
        Ok(again) if again.original.bytes != ingested.original.bytes => Err(wrong("stripped twice")),
        Ok(_) => Ok(()),
        Err(error) => Err(wrong(&format!("the original cannot be read: {error:?}"))),
    }
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files = Vec::new();
    for group in ["jpeg", "png", "webp", "gif", "avif", "heic", "orientation", "profiles", "damaged"] {
        for entry in fs::read_dir(folder.join(group)).expect("a folder of the corpus") {
            let path = entry.expect("a file").path();
            let name = format!("{group}/{}", path.file_name().expect("a name").to_string_lossy());
            files.push((name, fs::read(path).expect("its bytes")));
        }
    }
    // Folders are listed in any order.
    files.sort();
    files
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
}

struct Chance(u64);

impl Chance {
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
            // Half of the hits within the header, which would otherwise rarely be met.
            let reach = if self.below(2) == 0 { 300 } else { file.len() };
            let at = self.below(reach.min(file.len()));
            match self.below(12) {
                0..=3 => file[at] = self.next() as u8,
                4 | 5 => file[at] ^= 1 << self.below(8),
                6 => file[at] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][self.below(6)],
                7 => file.truncate(at),
                8 => {
                    let end = (at + self.below(40)).min(file.len());
                    file.drain(at..end);
                }
                9 => {
                    let end = (at + self.below(40)).min(file.len());
                    let piece = file[at..end].to_vec();
                    file.splice(at..at, piece);
                }
                10 => {
                    let end = (at + 4).min(file.len());
                    let number = self.next().to_be_bytes();
                    file[at..end].copy_from_slice(&number[..end - at]);
                }
                _ => {
                    let (_, other) = &others[self.below(others.len())];
                    let from = self.below(other.len());
                    let piece = other[from..(from + self.below(200)).min(other.len())].to_vec();
                    let end = (at + piece.len()).min(file.len());
                    file.splice(at..end, piece);
                }
            }
        }
        file
    }
}
