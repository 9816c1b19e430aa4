//! Errors of starting and stopping a demo.

use std::io;
use std::path::PathBuf;

use crate::service::StartError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("cannot create a temporary folder: {0}\nPoint TMPDIR to a folder that this user may write to.")]
    Folder(io::Error),
    #[error("demo/cast.toml: {0}")]
    SeedData(String),
    #[error("cannot create the demo data: {operation}: {cause}")]
    Seed { operation: String, cause: app::Error },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot delete the folder of the demo {}: {cause}\nDelete it by hand.", path.display())]
    Remove { path: PathBuf, cause: io::Error },
}
