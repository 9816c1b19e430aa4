//! The archive of an account: a zip with its photos, JSON files, and a page that shows them offline.
//! `docs/account-archive.md` describes it for other software.

mod import;
mod reader;
mod records;
mod writer;

pub(crate) use import::{ImportJob, run_import};
pub(crate) use reader::{Archive, ArchiveError, MAX_DIRECTORY, MAX_OPERATOR_DIRECTORY};
pub(crate) use records::{AccountRecord, InstanceRecord, LikeRecord, PostRecord};
pub(crate) use writer::{ArchiveSource, OfflinePage, stream};
