//! Whatever comes, the answer is a picture that can be rendered and whose original can be read again, or a
//! refusal that blames the file.

#![no_main]

use imaging::{Error, OutputFormat, Limits, ingest, render};
use libfuzzer_sys::fuzz_target;
use model::Size;

fuzz_target!(|file: &[u8]| {
    let limits = Limits { max_pixels: 250_000 };
    let ingested = match ingest(file, &limits) {
        Ok(ingested) => ingested,
        Err(Error::Internal(cause)) => panic!("{cause}"),
        Err(_) => return,
    };
    let size = Size::new(16).expect("a size");
    render(&ingested.masters[0].bytes, size, OutputFormat::WebP).expect("a fresh master");
    let again = ingest(&ingested.original.bytes, &limits).expect("a kept original");
    assert!(again.removed.is_empty());
});
