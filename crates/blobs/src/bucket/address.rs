//! Where an object is, and its checksum.

use std::borrow::Cow;

use object_store::Attribute;
use object_store::path::Path;

use crate::checksum::checksum;

/// Where our checksum stands in an object's metadata: `x-amz-meta-pinhole-crc32`.
pub(super) const CHECKSUM: Attribute = Attribute::Metadata(Cow::Borrowed("pinhole-crc32"));

/// Where an object is, and what its checksum covers besides its bytes.
#[derive(Debug, Clone)]
pub(super) struct Address {
    key: Path,
    /// The last part of what it lies in: of a photo's files, the photo.
    folder: String,
    name: String,
}

impl Address {
    pub(super) fn new(folder: &Path, name: impl Into<String>) -> Self {
        let name = name.into();
        let key = folder.clone().join(name.as_str());
        Self { key, folder: folder.filename().unwrap_or_default().to_owned(), name }
    }

    pub(super) fn key(&self) -> &Path {
        &self.key
    }

    pub(super) fn checksum(&self, bytes: &[u8]) -> String {
        format!("{:08x}", checksum([self.name.as_bytes(), self.folder.as_bytes()], bytes))
    }
}
