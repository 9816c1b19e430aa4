//! No header makes `probe` panic or return a size above the limits.

#![no_main]

use imaging::{Limits, probe};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let limits = Limits { max_pixels: 64_000_000 };
    if let Ok(probe) = probe(file, &limits) {
        assert!(u64::from(probe.width) * u64::from(probe.height) <= limits.max_pixels);
    }
});
