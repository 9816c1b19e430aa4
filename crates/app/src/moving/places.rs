//! Where an instance keeps its facts and its bytes.

use std::fmt;
use std::path::PathBuf;

/// A data folder of this machine, or an address elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    Folder(PathBuf),
    Address(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub database: Place,
    pub blobs: Place,
}

impl Places {
    /// Both in one data folder.
    pub fn folder(path: PathBuf) -> Self {
        Self { database: Place::Folder(path.clone()), blobs: Place::Folder(path) }
    }

    /// The data folders among them, each once.
    pub(crate) fn folders(&self) -> Vec<&PathBuf> {
        let mut folders: Vec<&PathBuf> = [&self.database, &self.blobs].into_iter().filter_map(Place::path).collect();
        folders.dedup();
        folders
    }
}

impl Place {
    /// `postgres://…` and `s3://…` are addresses, anything else is a folder.
    pub fn new(raw: &str) -> Self {
        if raw.contains("://") { Self::Address(raw.to_owned()) } else { Self::Folder(raw.into()) }
    }

    pub(crate) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Folder(path) => Some(path),
            Self::Address(_) => None,
        }
    }

    /// Whether both are the same, however they are written.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let real = |place: &Self| place.path().and_then(|path| path.canonicalize().ok());
        self == other || real(self).is_some_and(|path| real(other) == Some(path))
    }
}

/// Without the password that an address may hold.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Address(address) => f.write_str(&without_password(address)),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    // What follows a question mark may hold one as well, and tells nobody where the place is.
    let rest = rest.split('?').next().unwrap_or(rest);
    match rest.rsplit_once('@') {
        Some((login, host)) => {
            let name = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{name}@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        for (raw, shown) in [
            ("postgres://ada:s3cret@db.example.org:5432/pinhole", "postgres://ada@db.example.org:5432/pinhole"),
            ("postgres://ada:p@ss@db/pinhole?sslpassword=x", "postgres://ada@db/pinhole"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
            ("./pinhole-data", "./pinhole-data"),
        ] {
            let place = Place::new(raw);
            assert_eq!((place.to_string(), format!("{place:?}")), (shown.into(), shown.into()));
        }
    }

    #[test]
    fn two_ways_to_write_a_folder_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Place::Folder(folder.path().to_owned());
        assert!(plain.is(&Place::Folder(folder.path().join("."))));
        assert!(!plain.is(&Place::Folder(folder.path().join("elsewhere"))));
        assert!(!plain.is(&Place::Address("s3://bucket".into())));
    }
}
