//! Errors of the configuration. Each names the setting, the invalid value and the expected one.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// All errors, not only the first, so that they can be fixed at once.
#[derive(Debug)]
pub struct ConfigError {
    errors: Vec<SettingError>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SettingError {
    #[error("{}: unknown setting {key}{}", path.display(), hint(nearest.as_ref()))]
    UnknownKey { path: PathBuf, key: String, nearest: Option<String> },

    #[error("unknown environment variable {name}{}", hint(nearest.as_ref()))]
    UnknownVariable { name: String, nearest: Option<String> },

    #[error("environment variable {name}: the value is not valid UTF-8")]
    NotUtf8 { name: String },

    #[error("cannot read the configuration file {path:?}: {cause}")]
    FileUnreadable { path: PathBuf, cause: io::Error },

    #[error("{}, line {line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },

    #[error("{key} ({origin}): invalid value {found}: expected {expected}, for example {example}")]
    WrongType {
        key: String,
        origin: String,
        found: &'static str,
        expected: &'static str,
        example: &'static str,
    },

    #[error("{key} ({origin}): invalid value {found}: {reason}, for example {example}")]
    InvalidValue { key: &'static str, origin: String, found: String, reason: String, example: &'static str },

    #[error("{origin}: cannot read {path:?}: {cause}")]
    SecretFile { origin: String, path: PathBuf, cause: io::Error },

    #[error("{origin}: the value is empty; remove it to leave the setting unset")]
    EmptySecret { origin: String },

    #[error("both {direct} and {by_file} are set; remove one")]
    ConflictingSecret { direct: String, by_file: String },

    #[error("{0}")]
    Rejected(String),
}

impl ConfigError {
    pub(super) fn new(errors: Vec<SettingError>) -> Self {
        Self { errors }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.as_slice() {
            [error] => write!(f, "{error}"),
            errors => {
                write!(f, "{} errors in the configuration:", errors.len())?;
                errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

fn hint(nearest: Option<&String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean {name}?"),
        None => "; `pinhole --help` lists all settings".into(),
    }
}
