//! The report: tables (the same for the terminal and for Markdown) and JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::measure::{Ratio, Timing};
use crate::service::compare::{self, Entry};
pub(crate) use crate::table::{Cell, Table, thousands};

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) title: String,
    /// Machine, versions and settings of the run.
    pub(crate) setting: Vec<(String, String)>,
    pub(crate) sections: Vec<Section>,
}

/// One comparison: its results and targets.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) notes: Vec<String>,
    /// CPU timings; the first entry is compared with the others.
    pub(crate) timings: Vec<Timing>,
    /// The same for servers under load.
    pub(crate) loads: Vec<Entry>,
    /// Written to the JSON only; a table summarises them.
    pub(crate) quiet_loads: Vec<Entry>,
    pub(crate) tables: Vec<Table>,
    pub(crate) targets: Vec<Target>,
    /// Written into the PostgreSQL part of the docs.
    #[serde(skip)]
    pub(crate) on_postgres: bool,
}

/// A figure with the limit it has to keep.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    what: String,
    measured: f64,
    spread: Option<(f64, f64)>,
    limit: f64,
    met: bool,
    wanted: String,
}

impl Target {
    /// At most `limit` times the peer's figure.
    pub(crate) fn ratio(what: &str, ratio: Ratio, limit: f64) -> Self {
        let spread = Some((ratio.min, ratio.max));
        let (measured, met, wanted) = (ratio.median, ratio.median <= limit, format!("at most {limit}×"));
        Self { what: what.into(), measured, spread, limit, met, wanted }
    }

    /// At least `limit` times the peer's figure.
    pub(crate) fn share(what: &str, ratio: Ratio, limit: f64) -> Self {
        let spread = Some((ratio.min, ratio.max));
        let (measured, met, wanted) = (ratio.median, ratio.median >= limit, format!("at least {limit}×"));
        Self { what: what.into(), measured, spread, limit, met, wanted }
    }

    pub(crate) fn at_most(what: &str, measured: f64, limit: f64) -> Self {
        let (met, wanted) = (measured <= limit, format!("at most {limit}"));
        Self { what: what.into(), measured, spread: None, limit, met, wanted }
    }

    pub(crate) fn at_least(what: &str, measured: f64, limit: f64) -> Self {
        let (met, wanted) = (measured >= limit, format!("at least {limit}"));
        Self { what: what.into(), measured, spread: None, limit, met, wanted }
    }
}

impl Section {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub(crate) fn note(mut self, words: impl Into<String>) -> Self {
        self.notes.push(words.into());
        self
    }

    pub(crate) fn markdown(&self) -> String {
        let mut parts: Vec<String> = self.notes.iter().map(|note| format!("{note}\n")).collect();
        if !self.timings.is_empty() {
            parts.push(times(&self.timings).markdown());
        }
        if !self.loads.is_empty() {
            parts.push(compare::table(&self.loads).markdown());
        }
        parts.extend(self.tables.iter().map(Table::markdown));
        if !self.targets.is_empty() {
            parts.push(targets(self.targets.iter()).markdown());
        }
        format!("## {}\n\n{}", self.title, parts.join("\n"))
    }
}

impl Report {
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}", self.title, self.setting());
        for section in &self.sections {
            // Writing to a string cannot fail.
            write!(text, "\n{}", section.markdown()).expect("a string takes everything");
        }
        text + "\n" + &self.summary()
    }

    pub(crate) fn setting(&self) -> String {
        self.setting.iter().map(|(name, value)| format!("- {name}: {value}\n")).collect()
    }

    /// Every target of the report.
    pub(crate) fn summary(&self) -> String {
        let all: Vec<&Target> = self.sections.iter().flat_map(|section| &section.targets).collect();
        let met = all.iter().filter(|target| target.met).count();
        format!("## {met} of {} targets met\n\n{}", all.len(), targets(all.into_iter()).markdown())
    }
}

fn times(timings: &[Timing]) -> Table {
    let first = timings.first();
    let rows = timings.iter().enumerate().map(|(index, timing)| {
        let ratio = match first {
            Some(first) if index > 0 => {
                let ratio = first.ratio(timing);
                format!("{:.3}× ({:.3}–{:.3})", ratio.median, ratio.min, ratio.max)
            }
            _ => String::new(),
        };
        let spread = format!("{:.1}–{:.1}", timing.min_ms, timing.max_ms);
        [Cell::Text(timing.candidate.clone()), timing.median_ms.into(), Cell::Text(spread), Cell::Text(ratio)]
    });
    let name = first.map_or("", |first| &first.candidate);
    Table::new(["candidate", "CPU ms", "min–max", &format!("{name} ÷ it")], rows)
}

fn targets<'a>(targets: impl Iterator<Item = &'a Target>) -> Table {
    let rows = targets.map(|target| {
        let spread = target.spread.map(|(min, max)| format!(" ({min:.3}–{max:.3})")).unwrap_or_default();
        let measured = format!("{:.3}{spread}", target.measured);
        let mark = if target.met { "✔ met" } else { "✘ missed" };
        [target.what.as_str().into(), target.wanted.as_str().into(), Cell::Text(measured), mark.into()]
    });
    Table::new(["target", "limit", "measured", ""], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_the_targets_that_are_met() {
        let ratio = Ratio { median: 0.4, min: 0.3, max: 0.6 };
        let section = Section {
            targets: vec![
                Target::ratio("a", ratio, 0.5),
                Target::at_least("b", 11.0, 12.0),
                Target::at_most("c", 1.0, 1.0),
            ],
            ..Section::new("t")
        };
        let setting = vec![("CPU".into(), "one".into())];
        let report = Report { title: "Pictures".into(), setting, sections: vec![section] };
        let text = report.markdown();
        assert!(text.contains("2 of 3 targets met"), "{text}");
        assert!(text.contains("0.400 (0.300–0.600)"), "{text}");
    }
}
