//! An archive: everything of an instance in one file, which is a plain tar.
//!
//! ```text
//! photos/0190a6e2-…-6f/2048          the files of a photo, as they are kept …
//! photos/0190a6e2-…-6f/SHA256SUMS    … and their checksums, as `sha256sum -c` reads them
//! facts/posts/000001/rows.jsonl      rows, some thousands in a file, table after table
//! facts/posts/000001/SHA256SUMS
//! manifest.json                      what it should hold, and a checksum of everything before this
//! SHA256SUMS
//! ```
//! Photos come first: whoever restores has the bytes before any row speaks of them, in one pass. The manifest comes
//! last: an archive without one was never finished.

mod contents;
mod group;
mod ledger;
mod manifest;
mod tar;
mod writer;

#[cfg(test)]
mod tests;

use std::io;

use sha2::Digest;

pub(super) use contents::{Content, Contents};
pub(super) use ledger::{Ledger, Written};
pub use manifest::Manifest;
pub(super) use writer::{LeftOut, Writer};

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("the archive cannot be read: {0}")]
    Read(io::Error),
    #[error("this is not an archive of Pinhole, or its very beginning is damaged")]
    Foreign,
    #[error("{entry} is damaged: {what}")]
    Damaged { entry: String, what: String },
    #[error("the archive ends too early, after {last}: it was cut off, or never finished")]
    CutOff { last: String },
    #[error("the archive has format {found}, made by a newer Pinhole; this one reads up to {known}")]
    Newer { found: u32, known: u32 },
}

fn hex(hash: sha2::Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
