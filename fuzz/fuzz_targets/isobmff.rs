//! The box reader of HEIF and AVIF files: probe and strip, without decoding pixels.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinhole_fuzz::within_memory;

fuzz_target!(|file: &[u8]| {
    within_memory((4 << 20) + 64 * file.len(), || imaging::check_isobmff(file));
});
