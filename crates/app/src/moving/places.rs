//! Where an instance keeps its facts and its bytes.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use blobs::{Account, BucketUrl};
use store::DatabaseUrl;

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

/// What has a scheme is an address, anything else a folder.
impl<Address: FromStr> FromStr for Place<Address> {
    type Err = Address::Err;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        if raw.contains("://") { raw.parse().map(Self::Address) } else { Ok(Self::Folder(raw.into())) }
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
        assert!("ftp://bucket".parse::<Place<BucketUrl>>().is_err());
    }
}
