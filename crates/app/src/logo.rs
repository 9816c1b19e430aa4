//! The logo of the instance: a small square image, stored among its settings, so that all nodes and backups
//! have it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sha2::{Digest, Sha256};

/// The key of the setting, whose value is the image in base64.
pub(crate) const LOGO_KEY: &str = "logo";

/// A square of this side has fewer, whatever it shows.
const MAX_BYTES: usize = 512 * 1024;

/// A WebP image.
#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    pub bytes: Bytes,
    /// A part of its hash, for URLs that change with it.
    pub version: String,
}

impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logo").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Logo {
    /// From the value of the setting.
    pub(crate) fn from_value(value: &str) -> Result<Self, String> {
        let bytes = STANDARD.decode(value).map_err(|_| "it is not base64".to_owned())?;
        let is_webp =
            matches!(bytes.as_slice(), [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]);
        if !is_webp || bytes.len() > MAX_BYTES {
            return Err("it is not a small WebP image".to_owned());
        }
        let digest = Sha256::digest(&bytes);
        let version = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes: bytes.into(), version })
    }
}
