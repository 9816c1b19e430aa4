//! Errors of the operator tools. The first line of a message says what is wrong, the others what to do.

use std::io;
use std::path::PathBuf;

use app::{RESTORE_ADVICE, permission_advice};
use model::{PhotoId, ValidationError};
use store::{Table, TableCounts};

use crate::archive::ArchiveError;
use crate::humanize::count;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}{}", .0, store_advice(.0))]
    Store(#[from] store::Error),
    #[error("{}{}", .0, blobs_advice(.0))]
    Blobs(#[from] blobs::Error),
    #[error(
        "{}\nNo rows were restored; the service deletes the photos that were copied when it starts.{}",
        .0,
        damage_advice(.0)
    )]
    Archive(#[from] ArchiveError),
    #[error(
        "the row of {table} with {row} cannot be migrated: {rule}\n\
         Nothing was imported. Correct the row in the old database, or migrate by `pinhole backup` and \
         `pinhole restore --skip-damaged`, which leaves it out."
    )]
    InvalidRow { table: Table, row: String, rule: ValidationError },
    #[error("{} already exists\nName another file, or replace it with --force.", path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}: {cause}\nCheck the free disk space, and that this user may write to the folder.", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error(
        "files of {} are damaged or missing: {}\n\
         `pinhole doctor --deep` checks all photos. Restore the files from an earlier backup, or migrate without \
         these photos and their posts by `pinhole backup` and `pinhole restore`.",
        count(missing.len() as u64, "photo"),
        names(missing)
    )]
    Missing { missing: Vec<PhotoId> },
    #[error("none of {} has its files\n{}", count(*photos, "photo"), CHECK_BLOBS_URL)]
    AllMissing { photos: u64 },
    #[error(
        "{location} is not empty: it has {}\n\
         Name an empty one: a restore or a migration never merges into existing data.",
        summary(counts)
    )]
    NotEmpty { location: String, counts: Box<TableCounts> },
    #[error("{location} is the current location\nName another location.")]
    SameLocation { location: String },
    #[error(
        "{} and {} are nested\nName a folder that is neither inside nor around the other.",
        new.display(),
        old.display()
    )]
    Nested { new: PathBuf, old: PathBuf },
    #[error(
        "{location} returned other bytes than were written to it, for photo {photo}\nCheck the health of the disk or the bucket."
    )]
    ReadBackMismatch { location: String, photo: PhotoId },
    #[error(
        "photo {photo} was deleted during the migration: a service still runs on the source\n\
         Stop every node of it, then run this with --finish again."
    )]
    SourceStillWritten { photo: PhotoId },
    #[error("{what} differs between the two locations\n{}", mismatch_advice(*is_finished))]
    Mismatch { what: String, is_finished: bool },
    #[error("not copied yet: {} of {}\n{}", photos - copied, count(*photos, "photo"), copy_advice(*is_finished))]
    PhotosNotCopied { copied: u64, photos: u64, is_finished: bool },
    #[error(
        "the old database was written to during the migration: a service still runs on it\n\
         Stop every node of it, {}then run this with --finish again.",
        empty_advice(imported_into.as_deref())
    )]
    SourceWritten { imported_into: Option<String> },
    #[error(
        "the rows are not copied yet; the photos to migrate are copied, and identical\n\
         Stop the service, then run this with --finish instead of --verify, which imports the rows."
    )]
    RowsNotCopied,
    #[error("cannot spool rows to a temporary file: {0}\nPoint TMPDIR to a folder with enough free space.")]
    Spool(io::Error),
    #[error("the archive thread failed: {0}")]
    ThreadFailed(String),
}

/// All photos missing means a wrong setting more often than lost files.
pub(crate) const CHECK_BLOBS_URL: &str = "Check that `blobs_url` is right, or that the disk of the photos is mounted. \
    If the files are lost, restore a backup.";

const DISK_FULL_ADVICE: &str = "\nThe disk is full: free some space, then run this again to resume.";

impl Error {
    /// All photos missing has another likely cause, and another advice, than some missing.
    pub fn missing(missing: Vec<PhotoId>, photos: u64) -> Self {
        if missing.len() as u64 == photos { Self::AllMissing { photos } } else { Self::Missing { missing } }
    }
}

fn damage_advice(error: &ArchiveError) -> &'static str {
    match error {
        error if error.is_damage() => {
            "\nRestore another backup, or all that is left of this one: --skip-damaged."
        }
        _ => "",
    }
}

fn store_advice(error: &store::Error) -> String {
    match error {
        store::Error::Full(_) => DISK_FULL_ADVICE.to_owned(),
        store::Error::Damaged(_) => format!("\n{RESTORE_ADVICE}"),
        _ => String::new(),
    }
}

fn blobs_advice(error: &blobs::Error) -> String {
    match error {
        blobs::Error::Io { cause, .. } => match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DISK_FULL_ADVICE.to_owned(),
            io::ErrorKind::PermissionDenied => format!("\n{}", permission_advice()),
            _ => String::new(),
        },
        blobs::Error::Unavailable(error) => format!("\n{}", error.remedy()),
        _ => String::new(),
    }
}

/// The first ids; `pinhole doctor --json` lists all.
fn names(photos: &[PhotoId]) -> String {
    const MAX_LISTED: usize = 5;
    let mut names: Vec<String> = photos.iter().take(MAX_LISTED).map(PhotoId::to_string).collect();
    if photos.len() > MAX_LISTED {
        names.push(format!("and {} more", photos.len() - MAX_LISTED));
    }
    names.join(", ")
}

/// Rows that were imported while the source was written to are incomplete, and have to be deleted.
fn empty_advice(imported_into: Option<&str>) -> String {
    imported_into.map_or_else(String::new, |location| format!("empty the new database ({location}), "))
}

/// Until the rows are imported, `Mode::Copy` overwrites photos that differ; afterwards it is refused.
fn mismatch_advice(is_finished: bool) -> &'static str {
    if is_finished {
        "Empty the destination and start over; the source is unchanged."
    } else {
        "Run this without --verify, which copies the photos that differ again."
    }
}

fn copy_advice(is_finished: bool) -> &'static str {
    if is_finished {
        "Stop the service, then run this with --finish instead of --verify, which copies the missing photos."
    } else {
        "Run this without --verify, or with --finish once the service is stopped: both copy the missing photos."
    }
}

fn summary(counts: &TableCounts) -> String {
    let TableCounts { users, posts, photos, sessions, .. } = counts;
    format!(
        "{}, {}, {} and {}",
        count(*users, "user"),
        count(*posts, "post"),
        count(*photos, "photo"),
        count(*sessions, "session")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_full_disk_missing_permissions_and_a_damaged_database_carry_advice() {
        let at = |kind: io::ErrorKind| blobs::Error::Io { path: "/data/photos".into(), cause: kind.into() };
        for (error, advice) in [
            (Error::from(at(io::ErrorKind::StorageFull)), "free some space"),
            (at(io::ErrorKind::PermissionDenied).into(), "runs as the user"),
            (store::Error::Full("disk full".into()).into(), "to resume"),
            (store::Error::Damaged("malformed".into()).into(), "keep a copy"),
        ] {
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
