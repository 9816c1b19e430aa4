//! What the files of a photo are called, wherever they are kept: a copy from one place to another renames nothing.

use model::PhotoId;

/// The file beside the squares: what was uploaded.
pub(crate) const ORIGINAL: &str = "original";

/// Every photo is below this.
pub(crate) const PHOTOS: &str = "photos";

/// The last byte of a photo id is random, so photos spread evenly over the shards.
pub(crate) fn shard(photo: PhotoId) -> String {
    format!("{:02x}", photo.as_bytes()[15])
}

/// The file that holds a square.
pub(crate) fn square(side: u32) -> String {
    side.to_string()
}
