//! What an archive says of itself, at its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;

/// Raised when an older Pinhole could not read what a newer one writes.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub made_by: String,
    /// The moment whose facts it holds.
    pub made_at: String,
    /// The version of the schema the rows come from.
    pub schema: u32,
    /// How many rows there are, by table.
    pub rows: BTreeMap<String, u64>,
    /// How many photos, and their bytes.
    pub photos: u64,
    pub bytes: u64,
    /// Photos that were deleted while the archive was written, and are left out with whatever showed them.
    pub deleted_meanwhile: Vec<String>,
    /// Photos whose bytes were missing, left out in the same way because somebody said so.
    pub missing: Vec<String>,
    /// Of everything before this manifest.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        /// All that every version has in common.
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
