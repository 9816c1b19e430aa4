//! The key of an object, and the checksum in its metadata.

use std::borrow::Cow;

use crc32fast::Hasher;
use object_store::Attribute;
use object_store::path::Path;

use crate::checksum::hasher;

/// The metadata that contains the checksum: `x-amz-meta-pinhole-crc32`.
pub(super) const CHECKSUM: Attribute = Attribute::Metadata(Cow::Borrowed("pinhole-crc32"));

/// The key of an object, and the two last segments of it, which its checksum covers.
#[derive(Debug, Clone)]
pub(super) struct ObjectKey {
    path: Path,
    /// The segment before the name: the photo's id, for a photo's file.
    folder: String,
    name: String,
}

impl ObjectKey {
    pub(super) fn new(folder: &Path, name: impl Into<String>) -> Self {
        let name = name.into();
        let path = folder.clone().join(name.as_str());
        Self { path, folder: folder.filename().unwrap_or_default().to_owned(), name }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// For the checksum of the object, before its first byte.
    pub(super) fn hasher(&self) -> Hasher {
        hasher([self.name.as_bytes(), self.folder.as_bytes()])
    }

    pub(super) fn checksum(&self, bytes: &[u8]) -> u32 {
        let mut checksum = self.hasher();
        checksum.update(bytes);
        checksum.finalize()
    }

    /// A checksum as it is in the metadata.
    pub(super) fn hex(checksum: u32) -> String {
        format!("{checksum:08x}")
    }
}
