//! Where an instance keeps its facts and its bytes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use blobs::{Account, BucketUrl};
use store::DatabaseUrl;

use crate::error::MoveError;

const PLACES: &str = "a place is a data folder, postgres://… for rows, or s3://… for photos";

/// A data folder of this machine, or an address elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place<Address> {
    Folder(PathBuf),
    Address(Address),
}

#[derive(Debug, Clone)]
pub struct Places {
    pub database: Place<DatabaseUrl>,
    pub blobs: Place<BucketUrl>,
    /// Who we are to a bucket.
    pub account: Account,
}

impl Places {
    /// The data folders among them, each once.
    pub(crate) fn folders(&self) -> Vec<&PathBuf> {
        let mut folders: Vec<&PathBuf> = self.database.path().into_iter().chain(self.blobs.path()).collect();
        folders.dedup();
        folders
    }

    /// A folder in a folder would be copied into itself, or cleared away with the other.
    pub fn expect_apart(&self, other: &Self) -> Result<(), MoveError> {
        for new in self.folders() {
            for old in other.folders() {
                let (ours, theirs) = (real(new), real(old));
                if ours != theirs && (ours.starts_with(&theirs) || theirs.starts_with(&ours)) {
                    return Err(MoveError::Nested { new: new.clone(), old: old.clone() });
                }
            }
        }
        Ok(())
    }
}

impl<Address> Place<Address> {
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Folder(path) => Some(path),
            Self::Address(_) => None,
        }
    }
}

impl<Address: PartialEq> Place<Address> {
    /// Whether both are the same, however they are written.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let real = |place: &Self| place.path().and_then(|path| path.canonicalize().ok());
        self == other || real(self).is_some_and(|path| real(other) == Some(path))
    }
}

/// What has a scheme is an address, anything else a folder. The error repeats nothing: there may be a password in it.
impl<Address: FromStr<Err = String>> FromStr for Place<Address> {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        if raw.contains("://") {
            return raw.parse().map(Self::Address).map_err(|reason| format!("{reason}; {PLACES}"));
        }
        if has_scheme(raw) {
            return Err(format!("{PLACES}; two slashes are missing, or ./ before the name of a folder"));
        }
        if raw.is_empty() { Err(PLACES.to_owned()) } else { Ok(Self::Folder(raw.into())) }
    }
}

/// `s3:bucket` was never meant to be a folder.
fn has_scheme(raw: &str) -> bool {
    let Some((scheme, _)) = raw.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Where a folder is or will be, whichever way it is written: as much of it as there is, followed by the rest.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|known| Some((known, known.canonicalize().ok()?)));
    match known {
        Some((known, real)) => {
            path.strip_prefix(known).map_or_else(|_| path.to_owned(), |rest| real.join(rest))
        }
        // Relative, and nothing of it is there.
        None => std::env::current_dir().map_or_else(|_| path.to_owned(), |here| here.join(path)),
    }
}

/// Addresses show themselves without the passwords they may hold.
impl<Address: fmt::Display> fmt::Display for Place<Address> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_write_a_folder_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let plain: Place<BucketUrl> = Place::Folder(folder.path().to_owned());
        assert!(plain.is(&Place::Folder(folder.path().join("."))));
        assert!(!plain.is(&Place::Folder(folder.path().join("elsewhere"))));
        assert!(!plain.is(&"s3://bucket".parse().unwrap()));
    }

    #[test]
    fn a_mistyped_address_is_no_folder() {
        for raw in ["ftp://bucket", "s3:bucket", "s3:/bucket", "postgres:db/x", "http:x", "HTTPS:x", ""] {
            assert!(raw.parse::<Place<BucketUrl>>().unwrap_err().contains(PLACES), "{raw}");
            assert!(raw.parse::<Place<DatabaseUrl>>().unwrap_err().contains(PLACES), "{raw}");
        }
        for raw in ["data", "./s3:bucket", "/srv/12:30", "12:30", "a b:c"] {
            assert_eq!(raw.parse::<Place<BucketUrl>>(), Ok(Place::Folder(raw.into())));
        }
    }

    #[test]
    fn no_folder_lies_in_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let places = |path: &Path| Places {
            database: Place::Folder(path.to_owned()),
            blobs: Place::Folder(path.to_owned()),
            account: Account::default(),
        };
        let apart = |a: &Path, b: &Path| places(a).expect_apart(&places(b)).is_ok();
        let [inner, other] = ["inner/most", "other"].map(|name| folder.path().join(name));
        assert!(!apart(&inner, folder.path()) && !apart(folder.path(), &inner));
        assert!(!apart(&folder.path().join("./inner"), &inner));
        assert!(apart(&inner, &other) && apart(folder.path(), &folder.path().join(".")));
    }
}
