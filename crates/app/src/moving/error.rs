//! What can go wrong on a move, in words that say what to do.

use std::io;
use std::path::PathBuf;

use model::PhotoId;
use store::Census;

use super::ArchiveError;

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
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
    #[error(
        "{place} is not empty: it has {}\n\
         Name an empty one: what is there is never mixed with what comes.",
        found(census)
    )]
    NotEmpty { place: String, census: Census },
    #[error("{place} is where it is now\nName another place.")]
    SamePlace { place: String },
    #[error(
        "{place} did not give back what was written to it, for photo {photo}\nSee that the disk or the store is healthy."
    )]
    Unfaithful { place: String, photo: PhotoId },
    #[error(
        "photo {photo} was deleted while it was moved: a service still runs on the old place\n\
         Stop every node of it, then finish again."
    )]
    StillWritten { photo: PhotoId },
    #[error(
        "the old database was written to while it was moved: a service still runs on it\n\
         Stop every node of it, {}then finish again.",
        emptied(filled.as_deref())
    )]
    Overtaken { filled: Option<String> },
    #[error(
        "{what} is not the same in both places\nEmpty the new place and begin again; the old one is as it was."
    )]
    Different { what: String },
    #[error("cannot keep facts in a temporary file: {0}\nPoint TMPDIR to a folder with some room.")]
    Ledger(io::Error),
    #[error("a thread ended before its work was done: {0}")]
    Stopped(String),
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

fn found(census: &Census) -> String {
    let Census { users, posts, photos, sessions, .. } = census;
    format!("{users} members, {posts} posts, {photos} photos and {sessions} sessions")
}
