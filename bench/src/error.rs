//! Why a benchmark could not be run.

use std::fmt::Display;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{what}: {cause}")]
    System { what: String, cause: std::io::Error },

    #[error("the engine failed: {0}")]
    Engine(#[from] imaging::Error),

    /// The words say what to do.
    #[error("{0}")]
    Peer(String),

    #[error("{0}")]
    Measure(String),
}

impl Error {
    pub(crate) fn system(what: impl Display) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| Self::System { what: what.to_string(), cause }
    }

    pub(crate) fn measure(cause: impl Display) -> Self {
        Self::Measure(cause.to_string())
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(Error::system(path.display()))
}

pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(Error::system(path.display()))
}

pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(Error::system(path.display()))
}
