//! What can go wrong on a move, in words that say what to do.

use std::io;
use std::path::PathBuf;

use app::{DAMAGED, access};
use model::PhotoId;
use store::Census;

use crate::archive::ArchiveError;
use crate::humanize::count;

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("{}{}", .0, store_remedy(.0))]
    Store(#[from] store::Error),
    #[error("{}{}", .0, blobs_remedy(.0))]
    Blobs(#[from] blobs::Error),
    #[error("{0}\nNothing was restored; what had been copied is cleared away when the service starts.")]
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
    #[error("not one of {} has its bytes\n{}", count(*photos, "photo"), ELSEWHERE)]
    AllMissing { photos: u64 },
    #[error(
        "{place} is not empty: it has {}\n\
         Name an empty one: what is there is never mixed with what comes.",
        found(census)
    )]
    NotEmpty { place: String, census: Census },
    #[error("{place} is where it is now\nName another place.")]
    SamePlace { place: String },
    #[error(
        "{} and {} lie one in the other\nName a folder of its own.",
        new.display(),
        old.display()
    )]
    Nested { new: PathBuf, old: PathBuf },
    #[error(
        "{place} did not give back what was written to it, for photo {photo}\nSee that the disk or the store is healthy."
    )]
    Unfaithful { place: String, photo: PhotoId },
    #[error(
        "photo {photo} was deleted while it was moved: a service still runs on the old place\n\
         Stop every node of it, then finish again."
    )]
    StillWritten { photo: PhotoId },
    #[error("{what} is not the same in both places\n{}", repair(*is_finished))]
    Different { what: String, is_finished: bool },
    #[error("not there yet: {} of {}\n{}", photos - there, count(*photos, "photo"), completion(*is_finished))]
    PhotosToCome { there: u64, photos: u64, is_finished: bool },
    #[error(
        "the old database was written to while it was moved: a service still runs on it\n\
         Stop every node of it, {}then finish again.",
        emptied(filled.as_deref())
    )]
    Overtaken { filled: Option<String> },
    #[error(
        "no rows are there yet; the photos that are to move are there, and the same\n\
         Stop the service, then run this with --finish instead of --verify: that brings in the rows."
    )]
    RowsToCome,
    #[error("cannot keep facts in a temporary file: {0}\nPoint TMPDIR to a folder with some room.")]
    Ledger(io::Error),
    #[error("a thread ended before its work was done: {0}")]
    Stopped(String),
}

/// All at once are seldom lost.
pub(crate) const ELSEWHERE: &str = "Is `blobs_url` right, and is the disk mounted that they are on? \
    If they are really gone, restore a backup.";

const MAKE_ROOM: &str =
    "\nThe disk is full: make room, then run it again; it goes on where this attempt ended.";

impl MoveError {
    /// All of them tell another story than some.
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
        store::Error::Damaged(_) => format!("\n{DAMAGED}"),
        _ => String::new(),
    }
}

fn blobs_remedy(error: &blobs::Error) -> String {
    match error {
        blobs::Error::Io { cause, .. } => match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => MAKE_ROOM.to_owned(),
            io::ErrorKind::PermissionDenied => format!("\n{}", access()),
            _ => String::new(),
        },
        blobs::Error::Unavailable(trouble) => format!("\n{}", trouble.remedy()),
        _ => String::new(),
    }
}

fn photos(count: usize) -> String {
    if count == 1 { "a photo".to_owned() } else { format!("{count} photos") }
}

/// The first few; `pinhole doctor --json` tells all.
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

/// What was brought in too early has to go: it is not all.
fn emptied(filled: Option<&str>) -> String {
    filled.map_or_else(String::new, |place| format!("empty the new database ({place}), "))
}

/// Before the rows are there every photo is compared again by a plain pass; afterwards none is touched any more.
fn repair(is_finished: bool) -> &'static str {
    if is_finished {
        "Empty the new place and begin again; the old one is as it was."
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

fn found(census: &Census) -> String {
    let Census { users, posts, photos, sessions, .. } = census;
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
    fn a_full_disk_and_a_closed_door_are_told_with_a_way_out() {
        let at = |kind: io::ErrorKind| blobs::Error::Io { path: "/data/photos".into(), cause: kind.into() };
        for (error, words) in [
            (MoveError::from(at(io::ErrorKind::StorageFull)), "make room"),
            (at(io::ErrorKind::PermissionDenied).into(), "runs as the user"),
            (store::Error::Full("disk full".into()).into(), "goes on where"),
            (store::Error::Damaged("malformed".into()).into(), "keep a copy"),
        ] {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
