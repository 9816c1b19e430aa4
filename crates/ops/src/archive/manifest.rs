//! The manifest: the last file of an archive, with counts and a checksum of everything before it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;

/// The format version. It is raised by a change that older versions cannot read.
pub(super) const FORMAT: u32 = 2;

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
    /// The number of photos, and the size of their files.
    pub photos: u64,
    pub bytes: u64,
    /// Photos that were deleted during the backup; skipped together with their posts.
    pub deleted_meanwhile: Vec<String>,
    /// Photos without any intact file; skipped together with their posts.
    pub missing: Vec<String>,
    /// The posts of missing photos. Archives of older versions do not say it.
    #[serde(default)]
    pub missing_posts: Vec<i64>,
    /// Files that were damaged or lost, and what became of them. Archives of older versions do not say it.
    #[serde(default)]
    pub damaged: Vec<String>,
    /// The SHA-256 of all archive bytes before the manifest.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        /// The only field that every format version has.
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
            return Err(ArchiveError::Newer { version: format, supported: FORMAT });
        }
        serde_json::from_slice(bytes).map_err(damaged)
    }
}
