//! The storage locations of an instance: its database and its blob store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use blobs::{BucketUrl, S3Config};
use store::DatabaseUrl;

use crate::error::Error;

const SYNTAX: &str = "a location is a data folder, postgres://… for rows, or s3://… for photos";

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
    /// Endpoint and credentials, if `blobs` is a bucket.
    pub s3_config: S3Config,
}

impl InstanceLocation {
    /// Those of the two that are folders, without duplicates.
    pub(crate) fn folders(&self) -> Vec<&PathBuf> {
        let mut folders: Vec<&PathBuf> = self.database.path().into_iter().chain(self.blobs.path()).collect();
        folders.dedup();
        folders
    }

    /// Refuses nested folders: one would be copied into itself, or deleted together with the other.
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
    /// Compares canonical paths, so that two spellings of one folder are the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let real = |location: &Self| location.path().and_then(|path| path.canonicalize().ok());
        self == other || real(self).is_some_and(|path| real(other) == Some(path))
    }
}

/// A value with a scheme is a URL, anything else a folder. The error does not quote the value, which may
/// contain a password.
impl<Url: FromStr<Err = String>> FromStr for StorageLocation<Url> {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        if raw.contains("://") {
            return raw.parse().map(Self::Url).map_err(|reason| format!("{reason}; {SYNTAX}"));
        }
        if has_scheme(raw) {
            return Err(format!(
                "{SYNTAX}; // is missing after the scheme, or ./ before the name of a folder"
            ));
        }
        if raw.is_empty() { Err(SYNTAX.to_owned()) } else { Ok(Self::Folder(raw.into())) }
    }
}

/// True for `s3:bucket`, which is a mistyped URL and not a folder.
fn has_scheme(raw: &str) -> bool {
    let Some((scheme, _)) = raw.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// The absolute path of a folder that may not exist: the longest existing ancestor is canonicalized, the rest
/// appended.
fn resolve(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    match existing {
        Some((ancestor, real)) => {
            path.strip_prefix(ancestor).map_or_else(|_| path.to_owned(), |rest| real.join(rest))
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
        let location: StorageLocation<BucketUrl> = StorageLocation::Folder(folder.path().to_owned());
        assert!(location.is_same(&StorageLocation::Folder(folder.path().join("."))));
        assert!(!location.is_same(&StorageLocation::Folder(folder.path().join("elsewhere"))));
        assert!(!location.is_same(&"s3://bucket".parse().unwrap()));
    }

    #[test]
    fn a_mistyped_url_is_not_taken_for_a_folder() {
        for raw in ["ftp://bucket", "s3:bucket", "s3:/bucket", "postgres:db/x", "http:x", "HTTPS:x", ""] {
            assert!(raw.parse::<StorageLocation<BucketUrl>>().unwrap_err().contains(SYNTAX), "{raw}");
            assert!(raw.parse::<StorageLocation<DatabaseUrl>>().unwrap_err().contains(SYNTAX), "{raw}");
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
            s3_config: S3Config::default(),
        };
        let are_disjoint = |a: &Path, b: &Path| location(a).ensure_disjoint(&location(b)).is_ok();
        let [inner, other] = ["inner/most", "other"].map(|name| folder.path().join(name));
        assert!(!are_disjoint(&inner, folder.path()) && !are_disjoint(folder.path(), &inner));
        assert!(!are_disjoint(&folder.path().join("./inner"), &inner));
        assert!(are_disjoint(&inner, &other) && are_disjoint(folder.path(), &folder.path().join(".")));
    }
}
