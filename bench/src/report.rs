//! What was found: tables for the terminal and for Markdown (they are the same), and JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::measure::{Ratio, Timing};
use crate::service::race::{self, Entry};
pub(crate) use crate::table::{Cell, Table, thousands};

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) title: String,
    /// Machine, engine and peers.
    pub(crate) setting: Vec<(String, String)>,
    pub(crate) sections: Vec<Section>,
}

/// One question and its answer.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) notes: Vec<String>,
    /// Ours first, if we can do it at all.
    pub(crate) timings: Vec<Timing>,
    /// The same for servers.
    pub(crate) loads: Vec<Entry>,
    /// For the JSON only: a table says what matters of them.
    pub(crate) quiet_loads: Vec<Entry>,
    pub(crate) tables: Vec<Table>,
    pub(crate) bars: Vec<Bar>,
    /// Has a chapter of its own in the docs.
    #[serde(skip)]
    pub(crate) on_postgres: bool,
}

/// Something that was aimed at.
#[derive(Debug, Serialize)]
pub(crate) struct Bar {
    what: String,
    measured: f64,
    spread: Option<(f64, f64)>,
    limit: f64,
    met: bool,
    aim: String,
}

impl Bar {
    /// At most so many times of theirs.
    pub(crate) fn ratio(what: &str, ratio: Ratio, limit: f64) -> Self {
        let spread = Some((ratio.min, ratio.max));
        let (measured, met, aim) = (ratio.median, ratio.median <= limit, format!("at most {limit}×"));
        Self { what: what.into(), measured, spread, limit, met, aim }
    }

    /// At least such a part of theirs, or so many times as much.
    pub(crate) fn share(what: &str, ratio: Ratio, limit: f64) -> Self {
        let spread = Some((ratio.min, ratio.max));
        let (measured, met, aim) = (ratio.median, ratio.median >= limit, format!("at least {limit}×"));
        Self { what: what.into(), measured, spread, limit, met, aim }
    }

    pub(crate) fn at_most(what: &str, measured: f64, limit: f64) -> Self {
        let (met, aim) = (measured <= limit, format!("at most {limit}"));
        Self { what: what.into(), measured, spread: None, limit, met, aim }
    }

    pub(crate) fn at_least(what: &str, measured: f64, limit: f64) -> Self {
        let (met, aim) = (measured >= limit, format!("at least {limit}"));
        Self { what: what.into(), measured, spread: None, limit, met, aim }
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
            parts.push(race::table(&self.loads).markdown());
        }
        parts.extend(self.tables.iter().map(Table::markdown));
        if !self.bars.is_empty() {
            parts.push(bars(self.bars.iter()).markdown());
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

    /// Every bar, in one place.
    pub(crate) fn summary(&self) -> String {
        let all: Vec<&Bar> = self.sections.iter().flat_map(|section| &section.bars).collect();
        let met = all.iter().filter(|bar| bar.met).count();
        format!("## {met} of {} bars met\n\n{}", all.len(), bars(all.into_iter()).markdown())
    }
}

fn times(timings: &[Timing]) -> Table {
    let first = timings.first();
    let rows = timings.iter().enumerate().map(|(place, timing)| {
        let ratio = match first {
            Some(first) if place > 0 => {
                let ratio = first.ratio(timing);
                format!("{:.3}× ({:.3}–{:.3})", ratio.median, ratio.min, ratio.max)
            }
            _ => String::new(),
        };
        let spread = format!("{:.1}–{:.1}", timing.min_ms, timing.max_ms);
        [Cell::Text(timing.contender.clone()), timing.median_ms.into(), Cell::Text(spread), Cell::Text(ratio)]
    });
    let name = first.map_or("", |first| &first.contender);
    Table::new(["who", "CPU ms", "from–to", &format!("{name} ÷ it")], rows)
}

fn bars<'a>(bars: impl Iterator<Item = &'a Bar>) -> Table {
    let rows = bars.map(|bar| {
        let spread = bar.spread.map(|(min, max)| format!(" ({min:.3}–{max:.3})")).unwrap_or_default();
        let measured = format!("{:.3}{spread}", bar.measured);
        let mark = if bar.met { "✔ met" } else { "✘ missed" };
        [bar.what.as_str().into(), bar.aim.as_str().into(), Cell::Text(measured), mark.into()]
    });
    Table::new(["bar", "aim", "measured", ""], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_whether_it_is_met() {
        let ratio = Ratio { median: 0.4, min: 0.3, max: 0.6 };
        let section = Section {
            bars: vec![
                Bar::ratio("a", ratio, 0.5),
                Bar::at_least("b", 11.0, 12.0),
                Bar::at_most("c", 1.0, 1.0),
            ],
            ..Section::new("t")
        };
        let setting = vec![("CPU".into(), "one".into())];
        let report = Report { title: "Pictures".into(), setting, sections: vec![section] };
        let text = report.markdown();
        assert!(text.contains("2 of 3 bars met"), "{text}");
        assert!(text.contains("0.400 (0.300–0.600)"), "{text}");
    }
}
