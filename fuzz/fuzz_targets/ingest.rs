//! Any input is either rejected as the uploader's error, or ingested: its master can be rendered and its
//! stored original can be ingested again.

#![no_main]

use imaging::{Error, Limits, OutputFormat, ingest, render};
use libfuzzer_sys::fuzz_target;
use model::Size;

fuzz_target!(|file: &[u8]| {
    let limits = Limits { max_pixels: 250_000 };
    let ingested = match ingest(file, &limits) {
        Ok(ingested) => ingested,
        Err(Error::Internal(cause)) => panic!("{cause}"),
        Err(_) => return,
    };
    let size = Size::new(16).expect("a valid size");
    render(&ingested.masters[0].bytes, size, OutputFormat::WebP).expect("a valid master");
    let again = ingest(&ingested.original.bytes, &limits).expect("the stored original can be ingested");
    assert!(again.removed.is_empty(), "the stored original contains metadata");
});
