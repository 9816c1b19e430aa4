//! Backup archives: verify, the reader of a restore, the rules of rows, and the import.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinhole_fuzz::within_memory;

fuzz_target!(|input: &[u8]| {
    // A photo of which files are damaged is decoded, in order to rebuild them.
    within_memory((512 << 20) + 64 * input.len(), || ops::check_restore(input));
});
