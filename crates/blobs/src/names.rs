//! The folders of photos, equal on a local disk and in a bucket.

use model::PhotoId;

/// The folder or key prefix of all photos.
pub(crate) const PHOTOS: &str = "photos";

/// The last byte of a photo id is random, so photos spread evenly over the shards.
pub(crate) fn shard(photo: PhotoId) -> String {
    shard_of(photo.as_bytes()[15])
}

pub(crate) fn shard_of(last_byte: u8) -> String {
    format!("{last_byte:02x}")
}
