//! One file of a photo as an object.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use model::Clock;
use object_store::path::Path;
use object_store::{Attribute, GetResult};

use super::Bucket;
use crate::Error;
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

/// An object that was found, not received yet.
#[derive(Debug)]
pub(crate) struct Object {
    bucket: Arc<Bucket>,
    address: Address,
    found: GetResult,
    found_at: Instant,
}

/// Whoever had to wait for memory asks again: the store may have stopped waiting for us.
const FRESH: Duration = Duration::from_secs(2);

impl Object {
    pub(super) fn new(bucket: Arc<Bucket>, address: Address, found: GetResult) -> Self {
        Self { bucket, address, found, found_at: Clock::monotonic() }
    }

    pub(crate) fn length(&self) -> u64 {
        self.found.meta.size
    }

    pub(crate) async fn read(self) -> Result<Bytes, Error> {
        let Self { bucket, address, found, found_at } = self;
        if found_at.elapsed() < FRESH {
            match bucket.receive(&address, found).await {
                // It may have been the way, or one of several copies: another look decides.
                Err(Error::Damaged { object }) => {
                    tracing::warn!(object, "an object did not arrive as it was written; it is read again");
                }
                outcome => return outcome,
            }
        } else {
            drop(found);
        }
        match bucket.get(&bucket.quick, &address).await? {
            Some(found) => bucket.receive(&address, found).await,
            None => Err(bucket.damaged(&address)),
        }
    }
}
