//! Operator tools: backup, restore, migrate and doctor.
//!
//! They work on an [`Instance`], which is a database and a blob store without the HTTP service, and are
//! independent of the backend of either.

mod archive;
mod backup;
mod doctor;
mod error;
mod examined_photo;
mod expected_files;
mod humanize;
mod instance;
mod location;
mod migrate;
mod photos;
mod plan;
mod progress;
mod restore;
mod row_rules;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub use archive::fuzzing::check_restore;
pub use archive::{ArchiveError, Manifest};
pub use backup::Destination;
pub use doctor::{ConsistencyCheck, Finding, Level};
pub use error::Error;
pub use humanize::{count, size};
pub use instance::Instance;
pub use location::{InstanceLocation, StorageLocation};
pub use migrate::{MigrateReport, Mode, migrate};
pub use plan::{Plan, plan};
pub use progress::Progress;
pub use restore::{RestoreOptions, RestoreReport, verify};
