//! What an operator can decide: one table of settings, read from flags, environment, TOML file and defaults.
//!
//! `settings.rs` is the table. The flag, the variable, the key, the help line, the line of `pinhole config` and
//! the field of [`Config`] all follow from one row of it.

mod error;
mod file;
mod form;
mod help;
mod layers;
mod numbers;
mod origin;
mod print;
mod public_url;
mod secret;
mod setting;
mod settings;
mod suggest;
mod variables;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use error::ConfigError;
pub use public_url::PublicUrl;
pub use secret::Secret;
pub use settings::Config;
pub use words::LogFormat;

pub(crate) use help::help;
pub(crate) use setting::{flag, keys};

use error::Problem;
use layers::Layers;
use origin::{Layer, Origin};
use settings::SETTINGS;

/// What the command line said: the file it named, and raw values by key (`max_upload`, `admin_token_file`).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub values: BTreeMap<String, String>,
}

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
    /// Flag over environment over file over default. Environment and disk are handed in, so a test needs neither.
    pub fn load(
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: impl Fn(&Path) -> io::Result<String>,
    ) -> Result<Loaded, ConfigError> {
        let mut layers = Layers::gather(flags, environment, &read_file);
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
        print::to_toml(self)
    }

    /// Whether somebody asked for this value; otherwise the default is in force.
    pub fn is_given(&self, key: &str) -> bool {
        let mut origins = SETTINGS.iter().zip(&self.origins);
        origins.any(|(setting, origin)| setting.key == key && !matches!(origin.layer, Layer::Default))
    }

    /// The complaint about a value that only its user can judge, such as the directives of `log`, in the words
    /// of every other bad value.
    pub fn refuse(&self, key: &str, reason: impl fmt::Display) -> ConfigError {
        let origins = SETTINGS.iter().zip(&self.origins);
        let origin =
            origins.filter(|(setting, _)| setting.key == key).map(|(_, origin)| format!(" ({origin})"));
        ConfigError::new(vec![Problem::Refused(format!("{key}{}: {reason}", origin.collect::<String>()))])
    }
}

/// Names only: a value may be a secret.
impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flags").field("config", &self.config).field("values", &self.values.keys()).finish()
    }
}
