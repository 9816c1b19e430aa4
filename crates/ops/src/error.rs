//! Errors of operator tools: each message says what is wrong and, after a line break, what to do.

use std::io;
use std::path::PathBuf;

use app::{RESTORE_ADVICE, permission_advice};
use model::PhotoId;
use store::TableCounts;

use crate::archive::ArchiveError;
use crate::humanize::count;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}{}", .0, store_remedy(.0))]
    Store(#[from] store::Error),
    #[error("{}{}", .0, blobs_remedy(.0))]
    Blobs(#[from] blobs::Error),
    #[error("{0}\nNothing was restored; the service removes the copied photos when it starts.")]
    Archive(#[from] ArchiveError),
    #[error("{} is there already\nName another file, or replace it with --force.", path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}: {cause}\nSee that there is room on the disk, and that this user may write there.", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error(
        "the bytes of {} are missing or not whole: {}\n\
         `pinhole doctor` looks at all of them. Bring them back from an earlier backup{}",
        photos(missing.len()),
        names(missing),
        remedy(*may_skip)
    )]
    Missing { missing: Vec<PhotoId>, may_skip: bool },
    #[error("not one of {} has its bytes\n{}", count(*photos, "photo"), CHECK_BLOBS_URL)]
    AllMissing { photos: u64 },
    #[error(
        "{location} is not empty: it has {}\n\
         Name an empty one: an archive or a migration is never merged with existing data.",
        contents(counts)
    )]
    NotEmpty { location: String, counts: TableCounts },
    #[error("{location} is where it is now\nName another location.")]
    SameLocation { location: String },
    #[error(
        "{} and {} lie one in the other\nName a folder of its own.",
        new.display(),
        old.display()
    )]
    Nested { new: PathBuf, old: PathBuf },
    #[error(
        "{location} did not return what was written to it, for photo {photo}\nSee that the disk or the store is healthy."
    )]
    ReadBackMismatch { location: String, photo: PhotoId },
    #[error(
        "photo {photo} was deleted while it was moved: a service still runs on the source\n\
         Stop every node of it, then finish again."
    )]
    SourceStillWritten { photo: PhotoId },
    #[error("{what} is not the same in both locations\n{}", repair(*is_finished))]
    Different { what: String, is_finished: bool },
    #[error("not there yet: {} of {}\n{}", photos - there, count(*photos, "photo"), completion(*is_finished))]
    PhotosNotCopied { there: u64, photos: u64, is_finished: bool },
    #[error(
        "the old database was written to while it was moved: a service still runs on it\n\
         Stop every node of it, {}then finish again.",
        emptied(filled.as_deref())
    )]
    SourceWritten { filled: Option<String> },
    #[error(
        "no rows are there yet; the photos that are to move are there, and the same\n\
         Stop the service, then run this with --finish instead of --verify: that imports the rows."
    )]
    RowsNotCopied,
    #[error("cannot spool rows to a temporary file: {0}\nPoint TMPDIR to a folder with some room.")]
    Spool(io::Error),
    #[error("a thread ended before its work was done: {0}")]
    Stopped(String),
}

/// All photos missing at once means a wrong setting more often than a loss.
pub(crate) const CHECK_BLOBS_URL: &str = "Is `blobs_url` right, and is the disk mounted that they are on? \
    If they are really gone, restore a backup.";

const MAKE_ROOM: &str =
    "\nThe disk is full: make room, then run it again; it goes on where this attempt ended.";

impl Error {
    /// All photos missing has another likely cause than some missing.
    pub fn missing(missing: Vec<PhotoId>, photos: u64, may_skip: bool) -> Self {
        if missing.len() as u64 == photos {
            Self::AllMissing { photos }
        } else {
            Self::Missing { missing, may_skip }
        }
    }
}

fn store_remedy(error: &store::Error) -> String {
    match error {
        store::Error::Full(_) => MAKE_ROOM.to_owned(),
        store::Error::Damaged(_) => format!("\n{RESTORE_ADVICE}"),
        _ => String::new(),
    }
}

fn blobs_remedy(error: &blobs::Error) -> String {
    match error {
        blobs::Error::Io { cause, .. } => match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => MAKE_ROOM.to_owned(),
            io::ErrorKind::PermissionDenied => format!("\n{}", permission_advice()),
            _ => String::new(),
        },
        blobs::Error::Unavailable(trouble) => format!("\n{}", trouble.remedy()),
        _ => String::new(),
    }
}

fn photos(count: usize) -> String {
    if count == 1 { "a photo".to_owned() } else { format!("{count} photos") }
}

/// The first few; `pinhole doctor --json` lists all.
fn names(photos: &[PhotoId]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = photos.iter().take(SHOWN).map(PhotoId::to_string).collect();
    if photos.len() > SHOWN {
        names.push(format!("and {} more", photos.len() - SHOWN));
    }
    names.join(", ")
}

fn remedy(may_skip: bool) -> &'static str {
    if may_skip {
        ", or leave them out, with their posts, by --skip-missing."
    } else {
        ", or move without them, and their posts, by `pinhole backup --skip-missing` and `pinhole restore`."
    }
}

/// Rows that were imported too early are incomplete, and have to be deleted.
fn emptied(filled: Option<&str>) -> String {
    filled.map_or_else(String::new, |location| format!("empty the new database ({location}), "))
}

/// Until the rows are imported, `Mode::Copy` compares every photo again; afterwards none is touched.
fn repair(is_finished: bool) -> &'static str {
    if is_finished {
        "Empty the destination and begin again; the source is unchanged."
    } else {
        "Run this without --verify: that copies again whatever differs."
    }
}

fn completion(is_finished: bool) -> &'static str {
    if is_finished {
        "Stop the service, then run this with --finish instead of --verify: that copies what is missing."
    } else {
        "Run this without --verify, or with --finish when the service is stopped: both copy what is missing."
    }
}

fn contents(counts: &TableCounts) -> String {
    let TableCounts { users, posts, photos, sessions, .. } = counts;
    format!(
        "{}, {}, {} and {}",
        count(*users, "member"),
        count(*posts, "post"),
        count(*photos, "photo"),
        count(*sessions, "session")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_missing_permissions_come_with_advice() {
        let at = |kind: io::ErrorKind| blobs::Error::Io { path: "/data/photos".into(), cause: kind.into() };
        for (error, words) in [
            (Error::from(at(io::ErrorKind::StorageFull)), "make room"),
            (at(io::ErrorKind::PermissionDenied).into(), "runs as the user"),
            (store::Error::Full("disk full".into()).into(), "goes on where"),
            (store::Error::Damaged("malformed".into()).into(), "keep a copy"),
        ] {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
