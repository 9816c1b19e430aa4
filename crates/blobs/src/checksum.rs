//! The checksum of stored files, cache files and bucket objects, which detects corruption at rest.

use crc32fast::Hasher;

/// The start of a CRC-32 of the names of the file, innermost first, and of its bytes, so that a misplaced
/// file fails the check as well.
pub(crate) fn hasher<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Hasher {
    let mut checksum = Hasher::new();
    for name in names {
        checksum.update(name);
        checksum.update(b"/");
    }
    checksum
}

pub(crate) fn checksum<'a>(names: impl IntoIterator<Item = &'a [u8]>, bytes: &[u8]) -> u32 {
    let mut checksum = hasher(names);
    checksum.update(bytes);
    checksum.finalize()
}
