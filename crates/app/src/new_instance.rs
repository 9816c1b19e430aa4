//! A missing database is a new instance only if nothing suggests a mistake: a disk that is not mounted, a
//! setting that is not set, a mistyped folder, a folder of other files. Otherwise the operator has to ask for
//! a new instance with `--init`.

use std::fs;
use std::path::{Path, PathBuf};

use blobs::{Blobs, Location};
use store::{Database, Store};

use crate::{Error, Settings};

const DATABASE: &str = "pinhole.db";

/// Folders that a start creates after the database, so they do not exist without one.
const FOLDERS: [&str; 3] = ["photos", "cache", "tmp"];

/// Files of a start that failed, and of file systems.
const HARMLESS: [&str; 4] = ["lock", "lost+found", "operator.sock", "reserve"];

/// The extensions of files that an operator puts there before the first start. A file without one, such as
/// that of a secret, is none of the photos and documents that a mistake would mix with.
const OF_THE_OPERATOR: [&str; 12] =
    ["cfg", "conf", "crt", "env", "ini", "json", "key", "log", "pem", "toml", "yaml", "yml"];

/// How deep folders are searched for files of others; a deeper one is taken for theirs.
const MAX_DEPTH: usize = 4;

/// Why a start refuses to make a new instance. The messages tell the operator what to do.
#[derive(Debug, thiserror::Error)]
pub enum SuspectedMistake {
    #[error(
        "{} was used by Pinhole before, but its database pinhole.db is missing\n\
         Mount or put back what is missing, restore a backup with `pinhole restore`, set PINHOLE_DATABASE_URL if the rows \
         are in PostgreSQL, or start a new, empty instance here with `pinhole serve --init`.",
        path.display()
    )]
    DatabaseLost { path: PathBuf },
    #[error(
        "there is no instance in {}, but one in {}: is that the one you mean?\n\
         Correct --data-dir or PINHOLE_DATA_DIR, or make a new instance here with `pinhole serve --init`.",
        path.display(),
        instance.display()
    )]
    Mistyped { path: PathBuf, instance: PathBuf },
    #[error(
        "{} has no instance, but other files, such as {}\n\
         Choose an empty folder with --data-dir or PINHOLE_DATA_DIR, or make a new instance among these files with \
         `pinhole serve --init`.",
        path.display(),
        file.display()
    )]
    OtherFiles { path: PathBuf, file: PathBuf },
    #[error(
        "the database is empty, but there are photos in {photos}\n\
         Check --database-url and --blobs-url, restore a backup into empty ones with `pinhole restore`, or start a new, \
         empty instance beside these photos with `pinhole serve --init`."
    )]
    RowsLost { photos: String },
    #[error("cannot check whether the instance is new: {0}")]
    Check(Error),
}

/// Called before anything is created.
pub(crate) fn check_folder(data_dir: &Path, database: &Database) -> Result<(), SuspectedMistake> {
    if matches!(database, Database::Server { .. }) || is_instance(data_dir) {
        return Ok(());
    }
    if FOLDERS.iter().any(|folder| data_dir.join(folder).is_dir()) {
        return Err(SuspectedMistake::DatabaseLost { path: data_dir.to_owned() });
    }
    if let Some(instance) = similar_instance(data_dir) {
        return Err(SuspectedMistake::Mistyped { path: data_dir.to_owned(), instance });
    }
    match other_file(data_dir, MAX_DEPTH) {
        Some(file) => Err(SuspectedMistake::OtherFiles { path: data_dir.to_owned(), file }),
        None => Ok(()),
    }
}

/// Called with the open stores: photos belong to rows, which may be on a server.
pub(crate) async fn check_rows(
    settings: &Settings,
    store: &Store,
    blobs: &Blobs,
) -> Result<(), SuspectedMistake> {
    let failed = |error: Error| SuspectedMistake::Check(error);
    let is_unused = store.is_unused().await.map_err(|error| failed(error.into()))?;
    if settings.init {
        if !is_unused {
            tracing::warn!(
                "--init has no effect on an existing instance; omit it, since it disables a check"
            );
        }
        return Ok(());
    }
    if is_unused && blobs.has_photos().await.map_err(|error| failed(error.into()))? {
        let photos = match &settings.photos {
            Location::DataFolder => settings.data_dir.display().to_string(),
            Location::Bucket { url, .. } => url.to_string(),
        };
        return Err(SuspectedMistake::RowsLost { photos });
    }
    Ok(())
}

/// A file that neither Pinhole nor its operator has put into the folder. Empty folders hold none.
fn other_file(folder: &Path, depth: usize) -> Option<PathBuf> {
    // A folder that is missing or cannot be listed: its use creates it, or reports the error.
    let mut entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries.find_map(|entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with('.') || HARMLESS.contains(&&*name) {
            return None;
        }
        if path.is_dir() {
            return if depth > 0 { other_file(&path, depth - 1) } else { Some(path) };
        }
        let extension = path.extension()?.to_string_lossy().to_lowercase();
        (!OF_THE_OPERATOR.contains(&extension.as_str())).then_some(path)
    })
}

fn is_instance(folder: &Path) -> bool {
    folder.join(DATABASE).exists()
}

/// An instance whose path differs from `data_dir` by a typing error in one name: the first that does not
/// exist, or the last.
fn similar_instance(data_dir: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(data_dir).ok()?;
    let missing = path.ancestors().take_while(|ancestor| !ancestor.exists()).last().unwrap_or(&path);
    let (parent, name) = (missing.parent()?, missing.file_name()?.to_str()?);
    let rest = path.strip_prefix(missing).ok()?;
    // A folder that cannot be listed has no suggestion to offer; creating the new one reports the error.
    let siblings = fs::read_dir(parent).ok()?.filter_map(Result::ok);
    let similar =
        siblings.filter(|entry| entry.file_name().to_str().is_some_and(|other| is_typo(name, other)));
    let instance = |folder: PathBuf| if rest.as_os_str().is_empty() { folder } else { folder.join(rest) };
    similar.map(|entry| instance(entry.path())).find(|folder| is_instance(folder))
}

/// Whether two names differ by case, separators or one typing error: a letter too many, too few or wrong, or
/// two swapped. Another number is no error: `photos-1` and `photos-2` are two instances.
fn is_typo(one: &str, other: &str) -> bool {
    if one == other {
        return false;
    }
    let letters = |name: &str| -> Vec<char> {
        name.to_lowercase().chars().filter(|letter| !matches!(letter, '-' | '_' | '.' | ' ')).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    let same = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - same], &other[..other.len() - same]);
    let is_edit = match (one, other) {
        ([] | [_], [] | [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    };
    is_edit && !one.iter().chain(other).any(|letter| letter.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_told_from_other_names() {
        for other in ["pinhol", "pinholee", "pinhloe", "pinhale", "Pinhole", "pin-hole", "inhole"] {
            assert!(is_typo("pinhole", other) && is_typo(other, "pinhole"), "{other}");
        }
        for other in ["pinhole", "pinhole2", "pinhole-new", "pinball", "data", "hole", ""] {
            assert!(!is_typo("pinhole", other) && !is_typo(other, "pinhole"), "{other}");
        }
        assert!(!is_typo("photos-1", "photos-2"));
    }

    #[test]
    fn a_folder_is_suspicious_beside_a_similar_one_or_with_parts_of_an_instance() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let check = |name: &str| {
            check_folder(&path(name), &Database::File(path(name).join(DATABASE)))
                .map_err(|error| error.to_string())
        };
        for folder in ["pinhole/data", "mount/lost+found", "used/photos", "node/cache", "album/2025/May"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        for file in [".hidden.jpg", "pinhole.toml", "tls.pem", "database-url", "lock", "reserve"] {
            fs::write(path("mount").join(file), "").unwrap();
        }
        fs::write(path("pinhole").join(DATABASE), "").unwrap();
        fs::write(path("pinhole/data").join(DATABASE), "").unwrap();
        for name in ["pinhole", "pinhole/data", "other", "mount", "a/b/c", "pinhole/elsewhere"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for (name, instance) in
            [("pinhol", "pinhole"), ("pinhole/dtaa", "pinhole/data"), ("pinhol/data", "pinhole/data")]
        {
            let refused = check(name).unwrap_err();
            assert!(
                refused.contains(path(instance).to_str().unwrap()) && refused.contains("--init"),
                "{refused}"
            );
        }
        let photo = path("album/2025/May/beach.JPG");
        assert_eq!(check("album"), Ok(()), "empty folders");
        fs::write(&photo, "").unwrap();
        let refused = check("album").unwrap_err();
        assert!(refused.contains(photo.to_str().unwrap()) && refused.contains("--init"), "{refused}");
        for name in ["used", "node"] {
            assert!(check(name).unwrap_err().contains("database pinhole.db is missing"), "{name}");
        }
    }
}
