//! The archive format: all rows and files of an instance in one tar file.
//!
//! ```text
//! copy/posts/000001/rows.jsonl       a copy of all rows, as of the snapshot
//! copy/posts/000001/SHA256SUMS
//! photos/0190a6e2-…-6f/2048          the files of a photo, as in the blob store …
//! photos/0190a6e2-…-6f/SHA256SUMS    … and their checksums, as `sha256sum -c` reads them
//! facts/posts/000001/rows.jsonl      rows, at most 5,000 in a file, one table after another
//! facts/posts/000001/SHA256SUMS
//! manifest.json                      counts, and the checksum of everything before it
//! SHA256SUMS
//! ```
//! A restore in one pass writes photos before the rows that refer to them, and only after all photos it is
//! known
//! which are in the archive: so the rows that count come last. The copy is for archives that are damaged or
//! truncated; format version 1 had none. The manifest comes last: an archive without one is truncated.

mod checksummed_folder;
mod error;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod manifest;
mod reader;
mod row_spool;
mod salvage;
mod tar;
mod writer;

#[cfg(test)]
mod tests;

pub use error::ArchiveError;
pub use manifest::Manifest;
pub(super) use reader::{Item, Reader};
pub(super) use row_spool::{RowSpool, SpooledRows};
pub(super) use writer::{PhotoChanges, Writer};
