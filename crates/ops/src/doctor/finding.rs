//! The result of one check.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// Worth knowing.
    Note,
    /// The operator has to act.
    Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    /// In words, without a stop at the end.
    pub what: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What was done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// Everything it concerns, by name.
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

    pub fn problem(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Problem, what.into())
    }

    fn new(check: &'static str, level: Level, what: String) -> Self {
        Self { check, level, what, advice: None, fixed: None, names: Vec::new() }
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// What was done, or else what to do.
    #[must_use]
    pub(super) fn fixed_or(mut self, fixed: Option<String>, advice: &str) -> Self {
        match fixed {
            Some(fixed) => self.fixed = Some(fixed),
            None => self.advice = Some(advice.to_owned()),
        }
        self
    }

    /// Keeps all names, and appends the first few to the text.
    #[must_use]
    pub(super) fn about(mut self, names: impl IntoIterator<Item = impl ToString>) -> Self {
        const SHOWN: usize = 3;
        self.names = names.into_iter().map(|name| name.to_string()).collect();
        let shown = self.names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if self.names.len() > SHOWN { ", …" } else { "" };
        self.what += &format!(" ({shown}{more})");
        self
    }

    /// Whether the operator still has to act.
    pub fn is_open(&self) -> bool {
        self.level == Level::Problem && self.fixed.is_none()
    }
}
