//! Any input is either rejected as the uploader's error, or ingested: its master can be rendered and its
//! stored original can be ingested again.

#![no_main]

use imaging::{FitMasters, Error, Limits, OutputFormat, ingest, render};
use libfuzzer_sys::fuzz_target;
use model::Focus;

fuzz_target!(|file: &[u8]| {
    let limits = Limits { max_pixels: 250_000 };
    let ingested = match ingest(file, Focus::CENTRE, FitMasters::All, &limits) {
        Ok(ingested) => ingested,
        Err(Error::Internal(cause)) => panic!("{cause}"),
        Err(_) => return,
    };
    for master in ingested.masters.squares.iter().chain(&ingested.masters.fits) {
        render(&master.bytes, (16, 16), OutputFormat::WebP).expect("a valid master");
    }
    let again = ingest(&ingested.original.bytes, Focus::CENTRE, FitMasters::All, &limits).expect("the stored original can be ingested");
    assert!(again.removed.is_empty(), "the stored original contains metadata");
});
