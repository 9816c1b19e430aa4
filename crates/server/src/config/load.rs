//! Loads the configuration, and keeps where each value came from.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Problem};
use super::flags::Flags;
use super::layers::Layers;
use super::origin::{Layer, Origin};
use super::print;
use super::settings::{Config, SETTINGS};

/// The settings in force, and where each came from.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// In the order of the table.
    origins: Vec<Origin>,
}

impl Config {
    /// Flag over environment over file over default. Environment and disk are parameters, so a test needs
    /// neither.
    pub fn load(
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: impl Fn(&Path) -> io::Result<String>,
    ) -> Result<Loaded, ConfigError> {
        let mut layers =
            Layers::gather(SETTINGS, flags.config.clone(), flags.values.clone(), environment, &read_file);
        let config = Config::read(&mut layers);
        if config
            .as_ref()
            .is_some_and(|config| config.database_read_url.is_some() && config.database_url.is_none())
        {
            let reason = "database_read_url is set, but database_url is not: a replica answers beside the database it \
                          follows, never alone";
            layers.problems.push(Problem::Refused(reason.into()));
        }
        match config {
            Some(config) if layers.problems.is_empty() => {
                let (file, origins) = layers.into_origins();
                Ok(Loaded { config, file, origins })
            }
            _ => Err(ConfigError::new(layers.problems)),
        }
    }
}

impl Loaded {
    /// What `pinhole config` prints: a `pinhole.toml` of everything in force, secrets hidden.
    pub fn to_toml(&self) -> String {
        print::to_toml(&self.config, &self.origins)
    }

    /// Whether the value comes from any layer but the defaults.
    pub fn is_given(&self, key: &str) -> bool {
        self.origin(key).is_some_and(|origin| !matches!(origin.layer, Layer::Default))
    }

    /// Whether the value comes from the command line.
    pub fn is_flag(&self, key: &str) -> bool {
        self.origin(key).is_some_and(|origin| matches!(origin.layer, Layer::Flag))
    }

    /// The error for a value that only its user can check, such as the directives of `log`, in the same form
    /// as every other bad value.
    pub fn refuse(&self, key: &str, reason: impl fmt::Display) -> ConfigError {
        let origin = self.origin(key).map(|origin| format!(" ({origin})")).unwrap_or_default();
        ConfigError::new(vec![Problem::Refused(format!("{key}{origin}: {reason}"))])
    }

    fn origin(&self, key: &str) -> Option<&Origin> {
        SETTINGS
            .iter()
            .zip(&self.origins)
            .find_map(|(setting, origin)| (setting.key == key).then_some(origin))
    }
}
