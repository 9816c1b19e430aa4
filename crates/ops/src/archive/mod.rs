//! An archive: all rows and files of an instance in one file, which is a plain tar.
//!
//! ```text
//! photos/0190a6e2-…-6f/2048          the files of a photo, as the blob store has them …
//! photos/0190a6e2-…-6f/SHA256SUMS    … and their checksums, as `sha256sum -c` reads them
//! facts/posts/000001/rows.jsonl      rows, some thousands in a file, table after table
//! facts/posts/000001/SHA256SUMS
//! manifest.json                      counts of its contents, and a checksum of everything before this
//! SHA256SUMS
//! ```
//! Photos come first, so that a restore in one pass has the files before the rows that refer to them. The
//! manifest comes last: an archive without one is incomplete.

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
pub(super) use row_spool::{RowSpool, SpooledRows};
pub(super) use writer::{Skipped, Writer};
