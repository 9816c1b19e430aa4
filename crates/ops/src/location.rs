//! The storage locations of an instance: its database and its blob store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use blobs::{Account, BucketUrl};
use store::DatabaseUrl;

use crate::error::Error;

const LOCATIONS: &str = "a location is a data folder, postgres://… for rows, or s3://… for photos";

/// A data folder on this machine, or the URL of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageLocation<Url> {
    Folder(PathBuf),
    Url(Url),
}

#[derive(Debug, Clone)]
pub struct InstanceLocation {
    pub database: StorageLocation<DatabaseUrl>,
    pub blobs: StorageLocation<BucketUrl>,
    /// Credentials for a bucket.
    pub account: Account,
}

impl InstanceLocation {
    /// The data folders among them, without duplicates.
    pub(crate) fn folders(&self) -> Vec<&PathBuf> {
        let mut folders: Vec<&PathBuf> = self.database.path().into_iter().chain(self.blobs.path()).collect();
        folders.dedup();
        folders
    }

    /// Refuses a folder inside the other: it would be copied into itself, or deleted with the other.
    pub fn ensure_disjoint(&self, other: &Self) -> Result<(), Error> {
        for new in self.folders() {
            for old in other.folders() {
                let (ours, theirs) = (resolve(new), resolve(old));
                if ours != theirs && (ours.starts_with(&theirs) || theirs.starts_with(&ours)) {
                    return Err(Error::Nested { new: new.clone(), old: old.clone() });
                }
            }
        }
        Ok(())
    }
}

impl<Url> StorageLocation<Url> {
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Folder(path) => Some(path),
            Self::Url(_) => None,
        }
    }
}

impl<Url: PartialEq> StorageLocation<Url> {
    /// Whether both are the same, however they are spelled.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let real = |location: &Self| location.path().and_then(|path| path.canonicalize().ok());
        self == other || real(self).is_some_and(|path| real(other) == Some(path))
    }
}

/// Text with a scheme is a URL, anything else a folder. The error does not repeat the text: it may hold a
/// password.
impl<Url: FromStr<Err = String>> FromStr for StorageLocation<Url> {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        if raw.contains("://") {
            return raw.parse().map(Self::Url).map_err(|reason| format!("{reason}; {LOCATIONS}"));
        }
        if has_scheme(raw) {
            return Err(format!("{LOCATIONS}; two slashes are missing, or ./ before the name of a folder"));
        }
        if raw.is_empty() { Err(LOCATIONS.to_owned()) } else { Ok(Self::Folder(raw.into())) }
    }
}

/// `s3:bucket` is a mistyped URL, not a folder.
fn has_scheme(raw: &str) -> bool {
    let Some((scheme, _)) = raw.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// The absolute path of a folder that may not exist: its existing ancestors are canonicalized, the rest is
/// appended.
fn resolve(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|known| Some((known, known.canonicalize().ok()?)));
    match known {
        Some((known, real)) => {
            path.strip_prefix(known).map_or_else(|_| path.to_owned(), |rest| real.join(rest))
        }
        // Relative, and no ancestor exists.
        None => std::env::current_dir().map_or_else(|_| path.to_owned(), |here| here.join(path)),
    }
}

/// A URL is displayed without its password.
impl<Url: fmt::Display> fmt::Display for StorageLocation<Url> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_a_folder_are_the_same_location() {
        let folder = tempfile::tempdir().unwrap();
        let plain: StorageLocation<BucketUrl> = StorageLocation::Folder(folder.path().to_owned());
        assert!(plain.is_same(&StorageLocation::Folder(folder.path().join("."))));
        assert!(!plain.is_same(&StorageLocation::Folder(folder.path().join("elsewhere"))));
        assert!(!plain.is_same(&"s3://bucket".parse().unwrap()));
    }

    #[test]
    fn a_mistyped_url_is_not_taken_for_a_folder() {
        for raw in ["ftp://bucket", "s3:bucket", "s3:/bucket", "postgres:db/x", "http:x", "HTTPS:x", ""] {
            assert!(raw.parse::<StorageLocation<BucketUrl>>().unwrap_err().contains(LOCATIONS), "{raw}");
            assert!(raw.parse::<StorageLocation<DatabaseUrl>>().unwrap_err().contains(LOCATIONS), "{raw}");
        }
        for raw in ["data", "./s3:bucket", "/srv/12:30", "12:30", "a b:c"] {
            assert_eq!(raw.parse::<StorageLocation<BucketUrl>>(), Ok(StorageLocation::Folder(raw.into())));
        }
    }

    #[test]
    fn nested_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let location = |path: &Path| InstanceLocation {
            database: StorageLocation::Folder(path.to_owned()),
            blobs: StorageLocation::Folder(path.to_owned()),
            account: Account::default(),
        };
        let apart = |a: &Path, b: &Path| location(a).ensure_disjoint(&location(b)).is_ok();
        let [inner, other] = ["inner/most", "other"].map(|name| folder.path().join(name));
        assert!(!apart(&inner, folder.path()) && !apart(folder.path(), &inner));
        assert!(!apart(&folder.path().join("./inner"), &inner));
        assert!(apart(&inner, &other) && apart(folder.path(), &folder.path().join(".")));
    }
}
