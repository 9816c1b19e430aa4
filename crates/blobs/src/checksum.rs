//! A small checksum of our own, for bytes that lie where others may damage them.

/// Covers the bytes and the names they go by, innermost first, so that what came to lie elsewhere is not
/// taken for something else.
pub(crate) fn checksum<'a>(names: impl IntoIterator<Item = &'a [u8]>, bytes: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    for name in names {
        checksum.update(name);
        checksum.update(b"/");
    }
    checksum.update(bytes);
    checksum.finalize()
}
