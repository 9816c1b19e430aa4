//! Loads the configuration, with the origin of each value.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, SettingError};
use super::flags::Flags;
use super::layers::Layers;
use super::origin::{Layer, Origin};
use super::print;
use super::settings::{Config, SETTINGS};

/// The effective settings, and the origin of each.
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: Config,
    /// The configuration file that was read, if any.
    pub file: Option<PathBuf>,
    /// With which it was loaded, to load it again.
    pub flags: Flags,
    /// In the order of the table.
    origins: Vec<Origin>,
}

impl Config {
    /// A flag has precedence over the environment, that over the file, that over the default. Environment and
    /// file system are parameters, for the tests.
    pub fn load(
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: impl Fn(&Path) -> io::Result<String>,
    ) -> Result<LoadedConfig, ConfigError> {
        let mut layers =
            Layers::gather(SETTINGS, flags.config.clone(), flags.values.clone(), environment, &read_file);
        let config = Config::read(&mut layers);
        if config
            .as_ref()
            .is_some_and(|config| config.database_read_url.is_some() && config.database_url.is_none())
        {
            let reason = "database_read_url is set, but database_url is not: set database_url to the primary of the \
                          replica, or unset database_read_url";
            layers.errors.push(SettingError::Rejected(reason.into()));
        }
        match config {
            Some(config) if layers.errors.is_empty() => {
                let (file, origins) = layers.into_origins();
                Ok(LoadedConfig { config, file, flags: flags.clone(), origins })
            }
            _ => Err(ConfigError::new(layers.errors)),
        }
    }
}

impl LoadedConfig {
    /// The output of `pinhole config`: the effective settings as a `pinhole.toml`, without secrets.
    pub fn to_toml(&self) -> String {
        print::to_toml(&self.config, &self.origins)
    }

    /// Whether the value is set by a flag, the environment or the file.
    pub fn is_given(&self, key: &str) -> bool {
        self.origin(key).is_some_and(|origin| !matches!(origin.layer, Layer::Default))
    }

    /// Whether the value is set by a flag.
    pub fn is_flag(&self, key: &str) -> bool {
        self.origin(key).is_some_and(|origin| matches!(origin.layer, Layer::Flag))
    }

    /// The error for a value that only its consumer can validate, such as the filter directives of `log`.
    pub fn invalid(&self, key: &str, reason: impl fmt::Display) -> ConfigError {
        let origin = self.origin(key).map(|origin| format!(" ({origin})")).unwrap_or_default();
        ConfigError::new(vec![SettingError::Rejected(format!("{key}{origin}: {reason}"))])
    }

    fn origin(&self, key: &str) -> Option<&Origin> {
        SETTINGS
            .iter()
            .zip(&self.origins)
            .find_map(|(setting, origin)| (setting.key == key).then_some(origin))
    }
}
