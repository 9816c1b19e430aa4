//! The last entry of an archive: what it contains.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;

/// Raised when an older Pinhole could not read what a newer one writes.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub made_by: String,
    /// The time of the snapshot.
    pub made_at: String,
    /// The schema version of the rows.
    pub schema: u32,
    /// The number of rows, by table.
    pub rows: BTreeMap<String, u64>,
    /// The number of photos, and their bytes.
    pub photos: u64,
    pub bytes: u64,
    /// Photos that were deleted while the archive was written; skipped with the posts that showed them.
    pub deleted_meanwhile: Vec<String>,
    /// Photos whose files were missing; skipped in the same way with `--skip-missing`.
    pub missing: Vec<String>,
    /// The checksum of everything before the manifest.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        /// The part that is the same in every format.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let damaged = |cause: serde_json::Error| ArchiveError::Damaged {
            entry: "manifest.json".to_owned(),
            what: cause.to_string(),
        };
        let Version { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format > FORMAT {
            return Err(ArchiveError::Newer { found: format, known: FORMAT });
        }
        serde_json::from_slice(bytes).map_err(damaged)
    }
}
