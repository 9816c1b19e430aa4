//! Where a value came from: the layer, and the key it had there.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::setting::{flag, variable};

/// Raw values by key, all of them keys that exist.
pub(super) type Values = BTreeMap<String, String>;

pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// A layer, and the key the value had there: its own, or the `…_file` of a secret.
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
    /// For a column of them: `flag`, `PINHOLE_LISTEN`, `pinhole.toml`, `default`.
    pub(super) fn short(&self) -> String {
        match &self.layer {
            Layer::Flag => "flag".into(),
            Layer::Environment => variable(&self.key),
            Layer::File(path) => path.display().to_string(),
            Layer::Default => "default".into(),
        }
    }
}

/// For a sentence about one: `flag --listen`, `variable PINHOLE_LISTEN`, `pinhole.toml: listen`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.layer {
            Layer::Flag => write!(f, "flag {}", flag(&self.key)),
            Layer::Environment => write!(f, "variable {}", variable(&self.key)),
            Layer::File(path) => write!(f, "{}: {}", path.display(), self.key),
            Layer::Default => write!(f, "default of {}", self.key),
        }
    }
}
