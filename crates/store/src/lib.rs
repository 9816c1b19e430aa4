//! The database: users, sessions, posts, likes, the feed. The only crate that knows SQL.
//!
//! Each file named after a table has its columns, its statements and the functions that run them. A function
//! is written once over a `Tx`, for both backends: `sqlite` and `postgres`.

mod account_exports;
mod account_imports;
mod audit_log;
mod blocks;
mod changes;
mod column;
mod deletion;
mod error;
mod exclusions;
mod export;
mod feed;
mod grants;
mod held_names;
mod idempotency_keys;
mod import;
mod instance_settings;
mod integrity;
mod invitations;
mod key;
mod like_write;
mod likes;
mod lock_key;
mod maintenance;
mod moderation;
mod passwords;
mod photos;
mod postgres;
mod posts;
mod profile;
mod read_barrier_stats;
mod reports;
mod resumable_uploads;
mod revisions;
mod row;
mod sessions;
mod sqlite;
#[cfg(test)]
mod statement_tests;
mod statements;
mod store;
mod table;
mod tables;
mod tags;
mod tx;
mod usage;
mod users;
mod value;
mod work;

pub use account_exports::{ExportedLike, ExportedPost};
pub use account_imports::{AccountImport, ImportProgress, ImportedPostRow};
pub use audit_log::{AuditRow, NewAuditEntry};
pub use blocks::{BlockOutcome, BlockRow, HiddenPostRow, MAX_BLOCKS, MAX_HIDDEN_POSTS};
pub use changes::{Change, LoginAttempt, LoginOutcome, Notice};
pub use deletion::DeletionOutcome;
pub use error::{Error, OpenError};
pub use exclusions::{Exclusions, HiddenUsers, Relations};
pub use export::Sink;
pub use feed::FeedRequest;
pub use grants::Grants;
pub use held_names::HeldNameRow;
pub use idempotency_keys::{IdempotencyKeyRow, RequestKey};
pub use import::BlobState;
pub use instance_settings::InstanceSettingRow;
pub use integrity::{Miscount, OverdueCounts};
pub use invitations::InvitationRow;
pub use key::{Key, Slot};
pub use like_write::LikeOutcome;
pub use likes::LikeRow;
pub use maintenance::PhotoTotals;
pub use moderation::{InstanceTotals, RoleOutcome, UserRecord};
pub use passwords::RecoveryCodeRow;
pub use photos::{NewPhoto, Original, PhotoOwner, PhotoRow};
pub use postgres::{DatabaseUrl, ReplicationLag, replica_lag};
pub use posts::{AccessCheck, CreateOutcome, NewPost, PostRow, Publication, Replay};
pub use profile::{ProfileChange, ProfilePhotoOutcome};
pub use read_barrier_stats::ReadBarrierStats;
pub use reports::{Judge, NewReport, ReportOutcome, ReportRow, ResolveOutcome};
pub use resumable_uploads::{
    Append, NewUpload, NewUploadOutcome, PartOutcome, ResumableUpload, UploadCap, UploadPart,
};
pub use revisions::{Revisions, Ticket};
pub use sessions::{JoinOutcome, NewSession, Session, SessionRow};
pub use store::{Database, MAX_SHORT_OFFSET, SCHEMA_VERSION, Store};
pub use tables::{ExportRow, SequenceRow, Table, TableCounts};
pub use usage::{OverQuota, PostQuota};
pub use users::{Credentials, NewUser, UserRow};

/// Statements of the most frequent requests, for a benchmark that runs them without the service.
pub mod sql {
    pub use crate::feed::PAGE_LIKED as FEED_PAGE;
    pub use crate::likes::{ADD_TO_COUNT as COUNT_LIKE, INSERT as INSERT_LIKE};
}
