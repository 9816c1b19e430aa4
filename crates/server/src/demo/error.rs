//! Why a demo could not start or stop.

use std::io;
use std::path::PathBuf;

use crate::service::StartError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("cannot make a temporary folder: {0}\nPoint TMPDIR to a folder this user may write to.")]
    Folder(io::Error),
    #[error("demo/cast.toml: {0}")]
    Cast(String),
    #[error("the demo could not be filled: {operation}: {cause}")]
    Fill { operation: String, cause: app::Error },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot remove the demo's folder {}: {cause}\nPlease delete it by hand.", path.display())]
    Remove { path: PathBuf, cause: io::Error },
}
