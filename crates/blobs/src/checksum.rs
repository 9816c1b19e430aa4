//! The checksum of stored files, cache files and bucket objects, which detects corruption at rest.

/// A CRC-32 of the bytes and of the names of the file, innermost first, so that a misplaced file fails the
/// check as well.
pub(crate) fn checksum<'a>(names: impl IntoIterator<Item = &'a [u8]>, bytes: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    for name in names {
        checksum.update(name);
        checksum.update(b"/");
    }
    checksum.update(bytes);
    checksum.finalize()
}
