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
mod error;
mod group;
mod manifest;
mod row_spool;
mod tar;
mod writer;

#[cfg(test)]
mod tests;

pub(super) use contents::{Content, Contents};
pub use error::ArchiveError;
pub use manifest::Manifest;
pub(super) use row_spool::{Ledger, Written};
pub(super) use writer::{LeftOut, Writer};
