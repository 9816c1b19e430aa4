//! The result of one check of `pinhole doctor`.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// Information that needs no action.
    Note,
    /// The operator has to act, unless `--fix` has.
    #[serde(rename = "problem")]
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    /// A sentence without its full stop.
    pub what: String,
    /// What the operator should do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What `--fix` did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// All affected objects: ids, usernames, tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Finding {
    pub fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Ok, what.into())
    }

    pub fn note(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Note, what.into())
    }

    pub fn error(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Error, what.into())
    }

    fn new(check: &'static str, level: Level, what: String) -> Self {
        Self { check, level, what, advice: None, fixed: None, names: Vec::new() }
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Sets `fixed`, or `advice` if nothing was fixed.
    #[must_use]
    pub(super) fn fixed_or(mut self, fixed: Option<String>, advice: &str) -> Self {
        match fixed {
            Some(fixed) => self.fixed = Some(fixed),
            None => self.advice = Some(advice.to_owned()),
        }
        self
    }

    /// Sets `names`, and appends the first of them to `what`.
    #[must_use]
    pub(super) fn with_names(mut self, names: impl IntoIterator<Item = impl ToString>) -> Self {
        const MAX_LISTED: usize = 3;
        self.names = names.into_iter().map(|name| name.to_string()).collect();
        let listed = self.names.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if self.names.len() > MAX_LISTED { ", …" } else { "" };
        self.what += &format!(" ({listed}{more})");
        self
    }

    /// Whether it is an error that `--fix` has not fixed.
    pub fn is_unresolved(&self) -> bool {
        self.level == Level::Error && self.fixed.is_none()
    }
}
