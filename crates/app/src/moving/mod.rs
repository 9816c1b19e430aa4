//! Moving in and out: backups, restores, and moves from one database and blob store to others.
//!
//! They work on an [`Instance`], which is a database and a blob store without the service around them, and never ask
//! which kind stands behind either.

mod archive;
mod backup;
mod error;
mod instance;
mod migrate;
mod photos;
mod places;
mod plan;
mod progress;
mod restore;

pub use archive::{ArchiveError, Manifest};
pub use backup::Destination;
pub use error::MoveError;
pub use instance::Instance;
pub use migrate::{Mode, Moved, migrate};
pub use places::{Place, Places};
pub use plan::{Plan, plan};
pub use progress::Progress;
pub use restore::{Restored, verify};

pub(crate) use error::ELSEWHERE;
pub(crate) use photos::Shelves;
