//! Backup archives: verify, the reader of a restore, the rules of rows, and the import.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinhole_fuzz::within_memory;

fuzz_target!(|input: &[u8]| {
    within_memory((16 << 20) + 64 * input.len(), || ops::check_restore(input));
});
