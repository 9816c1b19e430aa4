//! The origin of a value: its layer, and its key there.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::setting::{flag, variable};

/// Raw values by key; all keys are known.
pub(super) type Values = BTreeMap<String, String>;

pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// The layer of a value, and its key there, which may be the `…_file` key of a secret.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) layer: Layer,
    pub(super) key: String,
}

#[derive(Debug, Clone)]
pub(super) enum Layer {
    Flag,
    Environment,
    File(PathBuf),
    Default,
}

impl Origin {
    /// The form for `pinhole config`: `flag`, `PINHOLE_LISTEN`, `pinhole.toml`, `default`.
    pub(super) fn short(&self) -> String {
        match &self.layer {
            Layer::Flag => "flag".into(),
            Layer::Environment => variable(&self.key),
            Layer::File(path) => path.display().to_string(),
            Layer::Default => "default".into(),
        }
    }
}

/// The form for error messages: `flag --listen`, `environment variable PINHOLE_LISTEN`, `pinhole.toml:
/// listen`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.layer {
            Layer::Flag => write!(f, "flag {}", flag(&self.key)),
            Layer::Environment => write!(f, "environment variable {}", variable(&self.key)),
            Layer::File(path) => write!(f, "{}: {}", path.display(), self.key),
            Layer::Default => write!(f, "default of {}", self.key),
        }
    }
}
