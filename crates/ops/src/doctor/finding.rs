//! Something that was looked at, and what was found.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Somebody has to do something.
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
    pub mended: Option<String>,
    /// All that it is about, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Finding {
    pub fn fine(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Fine, what.into())
    }

    pub fn note(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Note, what.into())
    }

    pub fn problem(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, Level::Problem, what.into())
    }

    fn new(check: &'static str, level: Level, what: String) -> Self {
        Self { check, level, what, advice: None, mended: None, names: Vec::new() }
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Says what was done, if something was; otherwise what to do.
    #[must_use]
    pub(super) fn mended_or(mut self, mended: Option<String>, advice: &str) -> Self {
        match mended {
            Some(mended) => self.mended = Some(mended),
            None => self.advice = Some(advice.to_owned()),
        }
        self
    }

    /// Keeps all names, and says the first few.
    #[must_use]
    pub(super) fn about(mut self, names: impl IntoIterator<Item = impl ToString>) -> Self {
        const SAID: usize = 3;
        self.names = names.into_iter().map(|name| name.to_string()).collect();
        let said = self.names.iter().take(SAID).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if self.names.len() > SAID { ", …" } else { "" };
        self.what += &format!(" ({said}{more})");
        self
    }

    /// Whether somebody still has to do something.
    pub fn is_open(&self) -> bool {
        self.level == Level::Problem && self.mended.is_none()
    }
}
