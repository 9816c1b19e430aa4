//! Everybody does the same job in every round, one after another, under the same load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

pub(super) use super::bench::Pace;
use super::load::{Load, Requests, Window};
use super::pgbench::Script;
use super::process::Server;
use crate::error::Error;
use crate::measure::{Ratio, median};
use crate::table::{Cell, Table, thousands};

/// Somebody who can do the job.
pub(super) struct Contender<'a> {
    name: String,
    /// Whose CPU time counts; the first one is asked.
    servers: Vec<&'a Server>,
    source: Source,
    /// What else is asked of the same server meanwhile.
    beside: Option<Load>,
}

/// Who asks.
enum Source {
    Load(Load),
    Script(Script),
}

impl<'a> Contender<'a> {
    pub(super) fn new(name: &str, server: &'a Server, connections: usize, requests: Arc<Requests>) -> Self {
        let load = Load { addresses: vec![server.address], connections, rate: None, core: None, requests };
        Self { name: name.into(), servers: vec![server], source: Source::Load(load), beside: None }
    }

    /// A database that is asked without anybody in between.
    pub(super) fn scripted(name: &str, server: &'a Server, script: Script) -> Self {
        Self { name: name.into(), servers: vec![server], source: Source::Script(script), beside: None }
    }

    /// Connections go to these as well, by turns. A script has one database only.
    pub(super) fn spread_over(mut self, others: impl IntoIterator<Item = &'a Server>) -> Self {
        for other in others {
            if let Source::Load(load) = &mut self.source {
                load.addresses.push(other.address);
            }
            self.servers.push(other);
        }
        self
    }

    /// Does a part of the work without being asked by us.
    pub(super) fn leaning_on(mut self, server: &'a Server) -> Self {
        self.servers.push(server);
        self
    }

    /// The load stays on this core; the server was started on another.
    pub(super) fn loaded_from(mut self, core: usize) -> Self {
        match &mut self.source {
            Source::Load(load) => load.core = Some(core),
            Source::Script(script) => script.core = Some(core),
        }
        self
    }

    /// So many requests a second, or as many as get answered. A script always does as many as it can.
    pub(super) fn at_rate(mut self, rate: Option<f64>) -> Self {
        if let Source::Load(load) = &mut self.source {
            load.rate = rate;
        }
        self
    }

    pub(super) fn beside(mut self, connections: usize, rate: Option<f64>, requests: Arc<Requests>) -> Self {
        let addresses = self.servers.iter().take(1).map(|server| server.address).collect();
        self.beside = Some(Load { addresses, connections, rate, core: None, requests });
        self
    }

    fn cpu(&self) -> Result<Duration, Error> {
        self.servers.iter().map(|server| server.cpu()).sum()
    }

    fn measure(&self, warm_up: Duration, length: Duration) -> Result<Sample, Error> {
        let window = Window::after(warm_up, length);
        let beside = self.beside.clone().map(|load| load.start(window)).transpose()?;
        let running = match &self.source {
            Source::Load(load) => load.clone().start(window)?,
            Source::Script(script) => script.clone().start(window)?,
        };
        sleep_until(window.from);
        let before = self.cpu()?;
        sleep_until(window.to);
        let cpu = self.cpu()?.saturating_sub(before);
        let told = |error| Error::measure(format!("{}: {error}", self.name));
        let answers = running.finish().map_err(told)?;
        let beside = beside.map(super::load::Running::finish).transpose().map_err(told)?;

        let (jobs, seconds) = (answers.latency.total() as f64, window.length().as_secs_f64());
        Ok(Sample {
            per_second: jobs / seconds,
            cpu_us: cpu.as_secs_f64() * 1e6 / jobs,
            p50_us: answers.latency.quantile_us(0.5),
            p99_us: answers.latency.quantile_us(0.99),
            p999_us: answers.latency.quantile_us(0.999),
            bytes: answers.bytes as f64 / jobs,
            load_busy: answers.cpu.as_secs_f64() / (warm_up.as_secs_f64() + seconds),
            beside_per_second: beside.map(|beside| beside.latency.total() as f64 / seconds),
        })
    }
}

/// One contender in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(super) per_second: f64,
    /// The server's, per job. With something beside it, for that as well.
    pub(super) cpu_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
    /// Of the bodies of a job.
    bytes: f64,
    /// How much of its core the generator itself used: near 1 it was the limit.
    load_busy: f64,
    pub(super) beside_per_second: Option<f64>,
}

/// One contender in all rounds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Entry {
    pub(super) name: String,
    samples: Vec<Sample>,
}

type Figure = fn(&Sample) -> f64;
pub(super) const RATE: Figure = |sample| sample.per_second;
/// Jobs for a second of CPU time.
pub(super) const THRIFT: Figure = |sample| 1e6 / sample.cpu_us;
pub(super) const CPU: Figure = |sample| sample.cpu_us;
pub(super) const P50: Figure = |sample| sample.p50_us;
pub(super) const P99: Figure = |sample| sample.p99_us;

impl Entry {
    /// Over the rounds.
    pub(super) fn of(&self, figure: impl Fn(&Sample) -> f64) -> Ratio {
        spread(self.samples.iter().map(figure).collect())
    }

    /// Round by round, so that what disturbed a round disturbs both sides of the fraction.
    pub(super) fn against(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Ratio {
        let rounds = self.samples.iter().zip(&other.samples);
        spread(rounds.map(|(ours, theirs)| figure(ours) / figure(theirs)).collect())
    }
}

fn spread(values: Vec<f64>) -> Ratio {
    let (min, max) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), v| (min.min(*v), max.max(*v)));
    Ratio { median: median(&values), min, max }
}

/// Who begins changes from round to round.
pub(super) fn race(pace: Pace, contenders: &[Contender]) -> Result<Vec<Entry>, Error> {
    let mut entries: Vec<Entry> = contenders
        .iter()
        .map(|contender| Entry { name: contender.name.clone(), samples: Vec::new() })
        .collect();
    for round in 0..pace.rounds {
        for turn in 0..contenders.len() {
            let who = (round + turn) % contenders.len();
            entries[who].samples.push(contenders[who].measure(pace.warm_up, pace.window)?);
        }
    }
    Ok(entries)
}

/// The first is held against each of the others.
pub(crate) fn table(entries: &[Entry]) -> Table {
    let rows = entries.iter().enumerate().map(|(place, entry)| {
        let against = |figure: Figure| match entries.first() {
            Some(first) if place > 0 => factor(first.against(entry, figure)),
            _ => Cell::Text(String::new()),
        };
        let rate = entry.of(RATE);
        [
            Cell::Text(entry.name.clone()),
            Cell::Whole(rate.median as u64),
            Cell::Text(format!("{}–{}", thousands(rate.min as u64), thousands(rate.max as u64))),
            entry.of(CPU).median.into(),
            millis(entry.of(P50).median),
            millis(entry.of(P99).median),
            Cell::Whole(entry.of(|sample| sample.bytes).median as u64),
            Cell::Whole((entry.of(|sample| sample.load_busy).median * 100.0) as u64),
            against(RATE),
            against(THRIFT),
        ]
    });
    let first = entries.first().map_or("", |first| &first.name);
    let head = [
        "who",
        "a second",
        "from–to",
        "CPU µs",
        "p50 ms",
        "p99 ms",
        "bytes",
        "load busy %",
        &format!("{first} ÷ it"),
        "per CPU second",
    ];
    Table::new(head, rows)
}

pub(super) fn factor(ratio: Ratio) -> Cell {
    Cell::Text(format!("{:.2}× ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max))
}

pub(super) fn millis(micros: f64) -> Cell {
    Cell::Text(format!("{:.2}", micros / 1000.0))
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}
