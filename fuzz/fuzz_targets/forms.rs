//! A form body as `application/x-www-form-urlencoded`, which is also parsed as the query of a page.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinhole_fuzz::within_memory;

fuzz_target!(|input: &[u8]| {
    within_memory((1 << 20) + 64 * input.len(), || server::check_forms(input));
});
