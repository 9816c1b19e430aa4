//! Errors of the configuration, each in a sentence that says how to fix it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Every problem, not only the first, so that all can be fixed at once.
#[derive(Debug)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("{}: {key} is not a setting{}", path.display(), hint(nearest.as_ref()))]
    UnknownKey { path: PathBuf, key: String, nearest: Option<String> },

    #[error("variable {name} is not a setting{}", hint(nearest.as_ref()))]
    UnknownVariable { name: String, nearest: Option<String> },

    #[error("variable {name}: the value is not valid UTF-8")]
    NotText { name: String },

    #[error("configuration file {path:?} cannot be read: {cause}")]
    Unreadable { path: PathBuf, cause: io::Error },

    #[error("{}, line {line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },

    #[error("{origin}: found {found}, expected {expected}, for example {example}")]
    Shape { origin: String, found: &'static str, expected: &'static str, example: &'static str },

    #[error("{key} ({origin}): found {found}, {reason}, for example {example}")]
    Value { key: &'static str, origin: String, found: String, reason: String, example: &'static str },

    #[error("{origin} cannot be read from {path:?}: {cause}")]
    SecretFile { origin: String, path: PathBuf, cause: io::Error },

    #[error("{origin} is empty; leave it out to have none")]
    EmptySecret { origin: String },

    #[error("both {direct} and {by_file} are given; keep one")]
    SecretTwice { direct: String, by_file: String },

    #[error("{0}")]
    Refused(String),
}

impl ConfigError {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self { problems }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(f, "{problem}"),
            problems => {
                write!(f, "{} mistakes in the configuration:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

fn hint(nearest: Option<&String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean {name}?"),
        None => "; `pinhole --help` lists them all".into(),
    }
}
