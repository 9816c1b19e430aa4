//! Form bodies as `multipart/form-data`: the first line is the Content-Type, the rest is the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinhole_fuzz::within_memory;

fuzz_target!(|input: &[u8]| {
    within_memory((1 << 20) + 64 * input.len(), || server::check_multipart(input));
});
